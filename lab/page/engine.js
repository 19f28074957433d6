// What every part of the page uses: elements, CSV files, downloads, and the program in its Worker.
'use strict';
const $ = id => document.getElementById(id);
const make = (name, properties = {}, ...inside) => {
    const { data, role, ...own } = properties, element = Object.assign(document.createElement(name), own);
    Object.assign(element.dataset, data);
    if (role) element.setAttribute('role', role);
    element.append(...inside);
    return element;
};
const button = (name, act, more = {}) => {
    const element = make('button', { type: 'button', ...more }, name);
    element.addEventListener('click', act);
    return element;
};
const unique = all => [...new Set(all)];
const mean = all => all.reduce((a, b) => a + b, 0) / all.length;

/** Rows of a CSV file, as objects of texts by column. */
function csv(text) {
    const rows = [...text.matchAll(/("(?:[^"]|"")*"|[^,\n]*)(,|\n|$)/g)].reduce((all, [, cell, end]) => {
        all.at(-1).push(cell[0] === '"' ? cell.slice(1, -1).replaceAll('""', '"') : cell);
        if (end !== ',') all.push([]);
        return all;
    }, [[]]).filter(row => row.length > 1);
    const head = rows.shift() ?? [];
    const all = rows.map(row => Object.fromEntries(head.map((name, k) => [name, row[k] ?? ''])));
    all.head = head;
    return all;
}
const number = cell => cell === undefined || cell === '' ? NaN : Number(cell);

function download(name, content, type) {
    const url = URL.createObjectURL(new Blob([content], { type }));
    make('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

async function download_png(name, svg) {
    const { width, height } = svg.viewBox.baseVal, scale = 3, canvas = make('canvas', { width: scale * width, height: scale * height });
    const image = new Image(), url = URL.createObjectURL(new Blob([svg_text(svg)], { type: 'image/svg+xml' }));
    await new Promise((done, failed) => { Object.assign(image, { onload: done, onerror: failed, src: url }); });
    const context = canvas.getContext('2d');
    context.fillStyle = '#ffffff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob(blob => download(name, blob, 'image/png'));
}
const svg_text = svg => new XMLSerializer().serializeToString(svg);

async function inflate(bytes, how) {
    const { readable, writable } = new DecompressionStream(how), writer = writable.getWriter(), reader = readable.getReader(), parts = [];
    for (const written of [writer.write(bytes), writer.close(), writer.closed, reader.closed]) written.catch(() => {}); // who reads hears of it
    try {
        for (let next; !(next = await reader.read()).done;) parts.push(next.value);
    } catch { throw new Error('what is compressed in it is damaged'); }
    return new Blob(parts).arrayBuffer();
}
const deflate = (bytes, how) => new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream(how))).arrayBuffer();
const to_base64 = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const from_base64 = text => Uint8Array.from(atob(text.trim().replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
const packed = id => inflate(from_base64($(id).textContent), 'gzip');

class Stopped extends Error {}

// The program is compiled once; a Worker has an instance of it, and what fails or is stopped gets another. Files that a reader gave
// (`kept`) go into all; results of commands are gone with theirs.
class Engine {
    static compiled = null;
    static kept = {};
    static #all = [];
    #worker = null;
    #asked = new Map();
    #n = 0;

    constructor() { Engine.#all.push(this); }

    static keep(files) {
        Object.assign(Engine.kept, files);
        for (const engine of Engine.#all) engine.#worker?.then(worker => worker.postMessage({ id: 0, files }));
    }

    static compile() {
        return Engine.compiled ??= Promise.all([packed('wasm').then(WebAssembly.compile), packed('data')]);
    }

    async #start() {
        const [module, data] = await Engine.compile();
        const url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
        const worker = new Worker(url);
        worker.onmessage = ({ data: answer }) => {
            const asked = this.#asked.get(answer.id);
            if (answer.line !== undefined) asked?.line?.(answer.line);
            else if (answer.failed !== undefined) this.stop(new Error(answer.failed));
            else { this.#asked.delete(answer.id); asked?.done(answer); }
        };
        worker.onerror = event => { event.preventDefault(); this.stop(new Error(event.message)); };
        worker.postMessage({ module, packed: data });
        if (Object.keys(Engine.kept).length) worker.postMessage({ id: 0, files: Engine.kept });
        return worker;
    }

    /** Runs `dsgd ARGS`, and answers with {rc, out, err, files}. @p more has files, cwd, read, and line(), called with each line. */
    async call(args, { line, ...more } = {}) {
        const worker = await (this.#worker ??= this.#start());
        return new Promise((done, failed) => {
            const id = ++this.#n;
            this.#asked.set(id, { done, failed, line });
            worker.postMessage({ id, args, ...more });
        });
    }

    stop(why = new Stopped('stopped')) {
        this.#worker?.then(worker => worker.terminate());
        this.#worker = null;
        for (const { failed } of this.#asked.values()) failed(why);
        this.#asked.clear();
    }
}
