// In a Worker, behind the program's own script: one command after the other in one instance, whose files stay. What is asked:
// {id, args, cwd, remove: [path of a file or folder], files: {path: text or bytes}, read: [path of a file or folder]}; what is answered:
// {id, rc, out, err, files}, and meanwhile {id, line} for each line of the standard error. The first message is {module}, the compiled
// program, and {packed}, its data.
'use strict';
let program = null, asked = null, out = [], err = [];
const settings = ({ module, packed }) => ({
    noInitialRun: true,
    instantiateWasm: (imports, done) => { WebAssembly.instantiate(module, imports).then(instance => done(instance, module)); return {}; },
    getPreloadedPackage: () => packed,
    print: line => out.push(line),
    printErr: line => { err.push(line); if (asked) postMessage({ id: asked.id, line }); },
});

const parent_of = path => path.slice(0, path.lastIndexOf('/')) || '/';
function write(fs, path, content) {
    fs.mkdirTree(parent_of(path));
    fs.writeFile(path, content);
}
function remove(fs, path) {
    if (!fs.analyzePath(path).exists) return;
    if (!fs.isDir(fs.stat(path).mode)) { fs.unlink(path); return; }
    for (const name of fs.readdir(path)) if (!['.', '..'].includes(name)) remove(fs, `${path}/${name}`);
    fs.rmdir(path);
}
function read(fs, path, into) {
    const { exists } = fs.analyzePath(path);
    if (!exists) return;
    if (fs.isDir(fs.stat(path).mode)) for (const name of fs.readdir(path)) { if (name[0] !== '.') read(fs, `${path}/${name}`, into); }
    else into[path] = /\.(png|gz)$/.test(path) ? fs.readFile(path) : fs.readFile(path, { encoding: 'utf8' });
}

async function answer(q) {
    const fs = program.FS, files = {};
    [asked, out, err] = [q, [], []];
    for (const path of q.remove ?? []) remove(fs, path);
    for (const [path, content] of Object.entries(q.files ?? {})) write(fs, path, content);
    fs.mkdirTree(q.cwd ?? '/lab');
    fs.chdir(q.cwd ?? '/lab');
    const rc = q.args ? program.command(q.args) : 0;
    for (const stream of fs.streams) if (stream?.fd > 2) fs.close(stream); // as where a process ends: the lock of a folder, for one
    for (const path of q.read ?? []) read(fs, path, files);
    postMessage({ id: q.id, rc, out: out.join('\n'), err: err.join('\n'), files });
}

let turn = Promise.resolve();
onmessage = ({ data }) => {
    turn = turn.then(async () => {
        if (data.module) program = await dsgd_module(settings(data));
        else await answer(data);
    }).catch(e => postMessage({ id: data.id ?? 0, failed: `${e}\n${err.join('\n')}` }));
};
