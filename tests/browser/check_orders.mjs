// Runs experiments in node by the lab's program: each in an instance of its own, then all in one instance, in shuffled orders, and
// compares what they write and complain of, but for wall times. What one run leaves behind changes no other.
//
//     node tests/browser/check_orders.mjs build/lab/dsgd.js ORDERS EXPERIMENT.yaml... [-- OPTION...]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const given = process.argv.slice(2), split = given.includes('--') ? given.indexOf('--') : given.length;
const [script, n_orders, ...experiments] = given.slice(0, split), file = path.resolve(script);
const options = ['-o', '/out', '--progress', 'off', '--force', ...given.slice(split + 1)];
const compiled = await WebAssembly.compile(readFileSync(file.replace(/js$/, 'wasm'))), factory = createRequire(import.meta.url)(file);

async function instance() {
    const lines = [], lab = await factory({ locateFile: name => path.join(path.dirname(file), name), print: () => {}, printErr: l => lines.push(l),
        instantiateWasm: (imports, done) => { WebAssembly.instantiate(compiled, imports).then(one => done(one, compiled)); return {}; } });
    return { lab, lines };
}
/** What is there afterwards, as one text. */
function ran({ lab, lines }, experiment) {
    const { FS } = lab;
    FS.writeFile('/e.yaml', readFileSync(experiment));
    if (FS.analyzePath('/out').exists) for (const name of FS.readdir('/out')) if (FS.isFile(FS.stat(`/out/${name}`).mode)) FS.unlink(`/out/${name}`);
    lines.length = 0;
    const rc = lab.command(['run', '/e.yaml', ...options]);
    for (const stream of FS.streams) if (stream?.fd > 2) FS.close(stream); // as lab/page/worker.js does
    const tables = FS.analyzePath('/out').exists ? FS.readdir('/out').filter(name => name.endsWith('.csv')).sort() : [];
    const without_wall = text => {
        const [head, ...rows] = text.trim().split('\n').map(line => line.match(/(?<=^|,)("[^"]*"|[^,]*)/g)), wall = head.map(name => /wall|cpu_s/.test(name));
        return rows.map(row => row.filter((_, k) => !wall[k]).join(',')).join('\n');
    };
    const texts = tables.map(name => `${name}\n${without_wall(FS.readFile(`/out/${name}`, { encoding: 'utf8' }))}`);
    return { rc, text: [...lines.map(line => line.replace(/[\d.]+ m?s wall\b.*/, '')), ...texts].join('\n') };
}

let random = 1; // Lehmer's generator: the same orders each time
const draw = n => (random = random * 48271 % 2147483647) % n;
const expected = new Map();
for (const experiment of experiments) expected.set(experiment, ran(await instance(), experiment));
const simulated = experiments.filter(e => expected.get(e).rc === 0), bytes = simulated.reduce((sum, e) => sum + expected.get(e).text.length, 0);
console.log(`${simulated.length} experiments are simulated, ${experiments.length - simulated.length} refused; ${bytes} bytes to compare`);
let differ = 0;
const one = await instance();
for (let k = 0; k < Number(n_orders); k++) {
    const order = [...experiments];
    for (let i = order.length - 1; i > 0; i--) { const j = draw(i + 1); [order[i], order[j]] = [order[j], order[i]]; }
    for (const [i, experiment] of order.entries()) {
        const now = ran(one, experiment), then = expected.get(experiment);
        if (now.rc === then.rc && now.text === then.text) continue;
        const [a, b] = [then.text, now.text].map(text => text.split('\n')), at = a.findIndex((line, l) => line !== b[l]);
        console.log(`FAILED ${experiment}, order ${k + 1}, after ${order[i - 1]}: status ${now.rc}, before ${then.rc}\n  ${a[at]}\n  ${b[at]}`);
        differ++;
    }
    console.log(`order ${k + 1}: ${differ} have differed until now; memory ${one.lab.HEAPU8?.length ?? '?'} bytes`);
}
process.exit(differ > 0 || simulated.length === 0 ? 1 : 0);
