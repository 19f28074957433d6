// Runs experiments in node by the lab's program and natively at CPU level `base`, and compares what both write, but for wall times:
//
//     node tests/browser/check_bits.mjs build/lab/dsgd.js build/release/dsgd EXPERIMENT.yaml... [-- OPTION...]
//
// Says which cells differ, with the largest relative difference. Fails where one is above 1e-9, or another outcome.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const given = process.argv.slice(2), split = given.includes('--') ? given.indexOf('--') : given.length;
const [script, native, ...experiments] = given.slice(0, split), more = ['--progress', 'off', '--force', ...given.slice(split + 1)];
const folder = mkdtempSync(path.join(os.tmpdir(), 'bits-')), lines = [];
const lab = await createRequire(import.meta.url)(path.resolve(script))({ print: l => lines.push(l), printErr: l => lines.push(l),
    locateFile: name => path.join(path.dirname(path.resolve(script)), name) });
const pictures = '/usr/share/datasets/fashion-mnist';
if (existsSync(pictures)) {
    lab.FS.mkdirTree(pictures);
    for (const name of readdirSync(pictures)) lab.FS.writeFile(`${pictures}/${name}`, readFileSync(`${pictures}/${name}`));
}
const rows = text => { const [head, ...all] = text.trim().split('\n').map(l => l.match(/(?<=^|,)("[^"]*"|[^,]*)/g)); return { head, all }; };
let failed = 0, same = 0;
for (const experiment of experiments) {
    const out = path.join(folder, path.basename(experiment, '.yaml')), there = `/out${same + failed}`;
    lab.FS.writeFile('/e.yaml', readFileSync(experiment));
    lines.length = 0;
    const rc = lab.command(['run', '/e.yaml', '-o', there, ...more]);
    let native_rc = 0;
    try { execFileSync(native, ['run', experiment, '-o', out, ...more], { env: { ...process.env, DSGD_CPU_LEVEL: 'base' }, stdio: 'ignore' }); }
    catch (e) { native_rc = e.status; }
    let worst = 0, cells = 0, n = 0;
    for (const name of ['runs', 'curves', 'workers', 'steps', 'staleness']) {
        if (!existsSync(`${out}/${name}.csv`)) continue;
        const of_lab = lab.FS.analyzePath(`${there}/${name}.csv`).exists ? lab.FS.readFile(`${there}/${name}.csv`, { encoding: 'utf8' }) : '';
        const a = rows(readFileSync(`${out}/${name}.csv`, 'utf8')), b = rows(of_lab);
        if (a.all.length !== b.all.length) worst = Infinity;
        a.all.forEach((row, i) => row.forEach((cell, k) => {
            if (/wall|cpu_s/.test(a.head[k]) || cell === b.all[i]?.[k]) return;
            const [x, y] = [Number(cell), Number(b.all[i]?.[k])];
            cells++;
            worst = Math.max(worst, Number.isNaN(x) || Number.isNaN(y) ? Infinity : Math.abs(x - y) / Math.max(Math.abs(x), Math.abs(y)));
        }));
        n = name === 'runs' ? a.all.length : n;
    }
    if (rc !== native_rc) worst = Infinity;
    if (worst > 1e-9) { failed++; console.log(`FAILED ${experiment}: status ${rc}, natively ${native_rc}; ${lines.slice(-2).join(' ')}`); } else same++;
    console.log(`${experiment}: ${n} runs, ${cells === 0 ? 'the same bits' : `${cells} cells differ, by ${worst.toExponential(1)} at most`}`);
}
console.log(`${same} of ${same + failed} experiments are the same`);
process.exit(failed > 0 ? 1 : 0);
