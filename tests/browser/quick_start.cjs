// node tests/browser/quick_start.cjs build/lab/dsgd.js EXPERIMENT.yaml: the lab's program checks and runs an experiment, twice: what one
// run leaves behind does not change the next.
const { readFileSync } = require('node:fs'), path = require('node:path');
const [script, experiment] = process.argv.slice(2), file = path.resolve(script);
require(file)({ locateFile: name => path.join(path.dirname(file), name) }).then(program => {
    const { FS, command, stackSave } = program, top = stackSave();
    FS.writeFile('/e.yaml', readFileSync(experiment));
    const runs = [];
    for (const name of ['/a', '/b']) {
        for (const args of [['check', '/e.yaml'], ['run', '/e.yaml', '-o', name]])
            if (command(args) !== 0) throw new Error(`dsgd ${args.join(' ')} fails`);
        runs.push(FS.readFile(`${name}/runs.csv`, { encoding: 'utf8' }).replace(/,[^,]*$/gm, '')); // without wall times, which are last
    }
    FS.writeFile('/large.yaml', readFileSync(path.join(__dirname, 'large.yaml')));
    if (command(['run', '/large.yaml', '-o', '/large']) !== 0) throw new Error('3 billion are refused');
    const large = FS.readFile('/large/runs.csv', { encoding: 'utf8' });
    for (const shown of [',3000000000,', ',60000000000,', ',1440000000000,', ',12000000000,', ',90000000000,']) // seed, samples, bytes
        if (!large.includes(shown)) throw new Error(`3 billion are counted otherwise: no ${shown} in ${large}`);
    const bytes = new Set();
    for (let k = 0; k < 60; k++) {
        command(['timeline', '/e.yaml', '--run', '1', '--steps', '0:4', '--format', 'json', '-o', '/t.json']);
        if (k > 9) bytes.add(program.HEAPU8.length);
    }
    if (bytes.size > 1) throw new Error(`memory grows with the number of commands: ${[...bytes]} bytes`);
    if (command(['run', '--no-such-option']) === 0 || stackSave() !== top) throw new Error(`commands leave ${top - stackSave()} bytes on the stack`);
    if (runs[0] !== runs[1] || runs[0].split('\n').length < 3) throw new Error('two runs differ, or there is none');
    process.exit(0); // Emscripten has set the status of the last command
}).catch(e => { console.error(e.message); process.exit(1); });
