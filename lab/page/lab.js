// The page itself: the bench with its editor, the phase diagram, a reader's own data, and addresses.
(() => {
// What has taken longer than a moment is done by several Workers the next time.
const helpers = Array.from({ length: Math.min(3, (navigator.hardwareConcurrency || 2) - 1) }, () => new Engine());
const engine = new Engine(), editor = $('yaml'), first = $('first').textContent.trim() + '\n';
const kept = { data: null, panels: [], text: '' };
let running = false, again = false, began = 0, last = null, last_ms = 0, last_panels = [];
const others = () => last_ms > 500 ? helpers : [], stop = () => { for (const one of [engine, ...helpers]) one.stop(); };
const status = what => { $('status').textContent = what; };

// --- the editor

function mark(line) {
    const lines = editor.value.split('\n').length;
    $('gutter').replaceChildren(...Array.from({ length: lines }, (_, k) => make('span', { className: k + 1 === line ? 'wrong' : '' }, String(k + 1))));
    editor.rows = Math.min(34, Math.max(14, lines + 1));
}
function say_wrong(sentences) {
    const [, line, column, what] = sentences.match(/^(?:dsgd: )?[^\s:]*:(\d+):(\d+): ([^]*)/) ?? [];
    mark(Number(line));
    editor.setAttribute('aria-invalid', String(sentences !== ''));
    $('wrong').replaceChildren(...(sentences === '' ? [] : line
        ? [button(`line ${line}`, () => { editor.focus(); const at = editor.value.split('\n').slice(0, line - 1).join('\n').length + (line > 1) + Number(column) - 1; editor.setSelectionRange(at, at); }), ' ', what]
        : [sentences.replace(/^dsgd: /, '')]));
}
function say_help() {
    if (editor.hasAttribute('aria-activedescendant')) return; // which says what the chosen completion means
    const help = controls.help(editor.value, editor.selectionStart);
    $('here').textContent = help ? `${help.path}: ${help.about}` : '';
}
function take(text, again_controls = true) {
    editor.value = text;
    mark();
    if (again_controls) draw_controls();
    write_address();
    go();
}
const draw_controls = () => { $('rest').hidden = controls.draw($('controls'), editor.value); };

// --- simulating and drawing

async function go() {
    again = running;
    if (running) { if (performance.now() - began > 1500) stop(); return; }
    [running, began] = [true, performance.now()];
    document.body.dataset.state = 'busy';
    const text = editor.value, late = setTimeout(() => { $('progress').hidden = false; }, 600);
    let ended = 0;
    try {
        const data = await results.run(engine, { text, folder: 'results', others: others(), line: said => { if (said[0] === '{') status(`${ended += JSON.parse(said).event === 'run'} runs have ended`); } });
        say_wrong(data.failed ?? '');
        if (!data.failed) await draw(data);
        else status(`Not simulated: see the line that is marked.${last ? ' What stands here is of the text before.' : ''}`);
    } catch (e) {
        stop();
        if (!(e instanceof Stopped)) say_wrong(`The program has ended: ${e.message}`);
        status(e instanceof Stopped ? 'Stopped.' : 'The program was started anew.');
    }
    clearTimeout(late);
    $('progress').hidden = true;
    running = false;
    if (again) go(); else document.body.dataset.state = 'idle';
}
async function draw(data) {
    const a = kept.data, b = results.scale_of(data), k = a ? results.scale_of(a) : b;
    const scale = a ? Object.fromEntries(Object.keys(b).map(key => [key, Math.max(b[key], k[key])])) : {};
    const timelines = async place => { last_panels = await results.panels([engine, ...others()], data, place); results.show_panels(timeline, last_panels, scale); };
    const height = $('now').offsetHeight;
    $('now').style.minHeight = `${height}px`; // what is below stays where it is until the timelines are there
    let { timeline, place } = results.show($('now'), data, scale, async chosen => { timeline = $('now').querySelector('.timeline'); await timelines(chosen); });
    if (a) {
        results.show($('kept'), a, scale);
        const lines = text => text.split('\n').map(l => l.trim()).filter(Boolean), only = (one, other) => lines(one).filter(l => !lines(other).includes(l)).join('; ');
        $('head-a').textContent = only(kept.text, data.text) || 'the same';
        $('head-b').textContent = only(data.text, kept.text) || 'the same';
    }
    const drawn = performance.now() - began;
    last = data;
    await timelines(place);
    if (a) { scale.timeline = Math.max(charts.end_of(kept.panels), charts.end_of(last_panels)); results.show_panels($('kept').querySelector('.timeline'), kept.panels, scale); results.show_panels(timeline, last_panels, scale); }
    $('now').style.minHeight = '';
    const n = data.runs.length, ms = performance.now() - began;
    status(`${n} ${n === 1 ? 'run' : 'runs'}, simulated and drawn in ${(ms / 1000).toFixed(2)} s.`);
    last_ms = ms;
    document.body.dataset.ms = `${Math.round(drawn)} ${Math.round(ms)}`;
}

function keep() {
    const on = kept.data === null && last !== null;
    Object.assign(kept, on ? { data: last, panels: last_panels, text: last.text } : { data: null });
    $('keep').textContent = on ? 'Let go of set-up A' : 'Keep as set-up A';
    $('keep').setAttribute('aria-pressed', String(on));
    document.body.classList.toggle('two', on);
    for (const id of ['b-part', 'kept-part']) $(id).hidden = !on;
    write_address();
    if (last) draw(last);
}

// --- the phase diagram, in a Worker of its own

const phase_engine = new Engine();
function fill_phase() {
    const all = controls.numbers(editor.value), option = ({ path, value }) => make('option', { value: path.join('.') }, `${path.join('.')} (${value})`);
    for (const [id, k] of [['phase-x', 0], ['phase-y', 1]]) {
        const before = $(id).value, own = all.filter(o => o.path[0] !== 'workers');
        $(id).replaceChildren(...own.map(option));
        $(id).value = own.some(o => o.path.join('.') === before) ? before : own.filter(o => !o.path.includes('algorithms') && !(o.path.at(-1) === 'workers'))[k]?.path.join('.') ?? '';
    }
}
async function run_phase() {
    const n = Number($('phase-n').value), all = controls.numbers(editor.value), axes = ['phase-x', 'phase-y'].map(id => all.find(o => o.path.join('.') === $(id).value));
    if (!axes[0] || !axes[1] || axes[0] === axes[1]) { $('phase-said').textContent = 'Choose two different numbers of the experiment.'; return; }
    const values = axes.map(({ value }) => { const x = controls.quantity(value); return Array.from({ length: n }, (_, k) => x / 8 * 64 ** (k / (n - 1))); });
    const units = axes.map(({ path, value }) => /B\/s|b\/s/.test(value) ? 'B/s' : /s$|min$|h$/.test(value) ? 's' : '');
    let text = editor.value;
    axes.forEach(({ path }, k) => { text = yaml.set(text, path, `{sweep: {from: ${values[k][0]}, to: ${values[k].at(-1)}, n: ${n}, log: true}}`); });
    if (yaml.get(yaml.parse(text), ['learn'])) text = yaml.remove(text, ['learn']);
    text = yaml.set(text, ['until'], '{steps: 20}');
    const cells = new Map(), near = (k, x) => values[k].reduce((best, v, i) => Math.abs(Math.log(v / x)) < Math.abs(Math.log(values[k][best] / x)) ? i : best, 0);
    const names = [], shown = k => values[k].map(v => charts.with_unit(Number(v.toPrecision(3)), units[k]));
    const render = width => {
        const look = results.looks_of(names), one = [...cells.values()].filter(c => c.by.size > 1).map(c => { const [a, b] = [...c.by].sort((p, q) => q[1] - p[1]); return { ...c, name: a[0], look: look[a[0]], lead: a[1] / b[1] }; });
        return charts.phase({ width, cells: one, xs: shown(0), ys: shown(1), names: names.map(name => ({ name, look: look[name] })), x_label: axes[0].path.at(-1).replaceAll('_', ' '), y_label: axes[1].path.at(-1).replaceAll('_', ' ') });
    };
    let due = 0, ended = 0;
    const paint = () => { $('phase').replaceChildren(results.figure('Who is fastest, and how many times as fast as the next', render, 'phase')); };
    const line = said => {
        const event = said[0] === '{' ? JSON.parse(said) : {};
        if (event.event !== 'run' || event.status !== 'ok') return;
        const [x, y] = axes.map(({ path }, k) => near(k, Object.entries(event.swept).find(([key]) => key.startsWith(path.join('.')))?.[1] ?? NaN)), key = `${x} ${y}`;
        if (!names.includes(event.algorithm)) names.push(event.algorithm);
        if (!cells.has(key)) cells.set(key, { x, y, by: new Map() });
        cells.get(key).by.set(event.algorithm, event.throughput_samples_per_s);
        $('phase-said').textContent = `${++ended} runs have ended.`;
        if (performance.now() > due) { due = performance.now() + 200; paint(); }
    };
    phase_engine.stop();
    $('phase-stop').hidden = false;
    try {
        const ran = await phase_engine.call(['run', 'phase.yaml', '-o', 'phase', '--force', '--refine', '--progress', 'json'], { line, files: { '/lab/phase.yaml': text }, read: ['/lab/phase/phase.csv'] });
        const refused = ran.err.split('\n').filter(l => l && l[0] !== '{').join(' ');
        for (const row of csv(ran.files['/lab/phase/phase.csv'] ?? '')) {
            const head = Object.values(row), [x, y] = [near(0, head[0]), near(1, head[1])], lead = Number(row.ratio);
            if (row.winner && lead >= 1) cells.set(`${x} ${y}`, { x, y, by: new Map([[row.winner, lead], [row.second, 1]]) });
        }
        if (names.length) paint();
        $('phase-said').textContent = ran.rc ? refused : `${ended} runs of 20 steps, timing alone; between the borders what is missing is interpolated.`;
    } catch (e) { if (!(e instanceof Stopped)) $('phase-said').textContent = `The program has ended: ${e.message}`; }
    $('phase-stop').hidden = true;
}

// --- a reader's own data

const pictures = '/usr/share/datasets/fashion-mnist/';
async function trace_of(name, bytes) {
    const trace = JSON.parse(new TextDecoder().decode(name.endsWith('.gz') ? await inflate(bytes, 'gzip') : bytes)), panel = results.panel_of(name, trace?.traceEvents ?? []);
    if (!panel.rows.length) throw new Error('no states of workers are in it, as traces of `dsgd timeline` have');
    return panel;
}
async function read_own(files) {
    const told = [], folders = {}, brought = {}, panels = [];
    for (const { path, file } of files) {
        const name = path.split('/').at(-1);
        try {
            const bytes = new Uint8Array(await file.arrayBuffer());
            if (/ubyte(\.gz)?$/.test(name)) brought[pictures + name] = bytes;
            else if (/\.ya?ml$/.test(name) && files.length === 1) { location.hash = 'lab'; take(new TextDecoder().decode(bytes)); return; }
            else if (/\.json(\.gz)?$/.test(name) && name !== 'manifest.json') panels.push(await trace_of(name, bytes));
            else if (/\.(csv|json)$/.test(name)) (folders[path.slice(0, -name.length)] ??= {})[`/lab/own/${name}`] = new TextDecoder().decode(bytes);
        } catch (e) { told.push(`${name}: ${e.message}.`); }
    }
    if (Object.keys(brought).length) { Engine.keep(brought); told.push(`${Object.keys(brought).length} of the four files are there for \`data: fashion-mnist\`.`); }
    let place = $('own');
    place.replaceChildren();
    const [at, ...others] = Object.keys(folders).filter(one => folders[one]['/lab/own/runs.csv'] !== undefined).sort();
    if (at !== undefined) {
        if (others.length) told.push(`${others.length + 1} folders have results; this is ${at.replace(/\/$/, '') || 'the first'}.`);
        await engine.call(null, { remove: ['/lab/own'], files: folders[at] });
        const data = await results.run(engine, { folder: 'own' });
        if (data.failed) told.push(data.failed); else place = results.show(place, data).timeline;
    } else if (!panels.length && !told.length) told.push(files.length ? 'No `runs.csv`, trace or pictures are in it.' : 'There is no file in it.');
    results.show_panels(place, panels, {}, 'What workers do');
    $('own-said').textContent = told.join(' ');
}
const say_own = files => files.then(read_own).catch(e => { $('own-said').textContent = `It cannot be read: ${e.message}.`; });
/** All files of what was dropped: handles, or entries where a browser has no handles. Chromium reads no entry where the page is a file itself. */
async function inside_of(list) {
    const all = [], asked = (object, how) => new Promise((done, failed) => object[how](done, failed));
    const walk = async (one, at) => {
        const path = at + one.name;
        if (one.kind === 'file') all.push({ path, file: await one.getFile() });
        else if (one.isFile) all.push({ path, file: await asked(one, 'file') });
        else if (one.kind === 'directory') for await (const next of one.values()) await walk(next, `${path}/`);
        else for (let reader = one.createReader(), some; (some = await asked(reader, 'readEntries')).length;) for (const next of some) await walk(next, `${path}/`);
    };
    for (const one of await Promise.all(list)) if (one) await walk(one, '');
    return all;
}

// --- addresses: a page, and all settings of the bench

const pages = ['lab', 'course', 'explain', 'own'];
let writing = 0, written = '';
function write_address() {
    clearTimeout(writing);
    writing = setTimeout(async () => {
        const pack = async text => to_base64(await deflate(new TextEncoder().encode(text), 'deflate-raw'));
        if (!/^#(lab|$)/.test(location.hash || '#lab')) return;
        written = `#lab=${await pack(editor.value)}${kept.data ? `&a=${await pack(kept.text)}` : ''}`;
        location.replace(written);
    }, 400);
}
async function open_address() {
    const hash = location.hash || '#lab', name = hash.slice(1).split(/[=/]/)[0], page = pages.includes(name) ? name : 'lab';
    if (hash === written) return;
    if ($(`page-${page}`).hidden) scrollTo(0, 0);
    for (const id of pages) { $(`page-${id}`).hidden = id !== page; document.querySelector(`nav a[href="#${id}"]`).setAttribute('aria-current', id === page ? 'page' : 'false'); }
    if (page === 'course') { await course.open(hash.split('/')[1]); return; }
    if (page === 'explain') { await explain.open(hash.split('/')[1]); return; }
    const [, text, other] = hash.match(/^#lab=([\w-]+)(?:&a=([\w-]+))?/) ?? [];
    const unpack = async packed_text => packed_text && new TextDecoder().decode(await inflate(from_base64(packed_text), 'deflate-raw'));
    let b, a, whole = true;
    try { [b, a] = [await unpack(text), await unpack(other)]; } catch { whole = false; }
    if (a) { editor.value = a; await go(); if (!kept.data) keep(); }
    if (b) { take(b); return; }
    if (!whole) {
        const said = `This link is not whole: it was cut off, or changed. ${editor.value ? 'Nothing was taken from it' : 'This is the experiment that the page begins with'}.`;
        if (!editor.value) { editor.value = first; await go(); }
        $('wrong').textContent = said;
    } else if (!editor.value) take(first, false);
    else window.dispatchEvent(new Event('resize'));
}

// --- all together

let typed = 0;
editor.addEventListener('input', () => { mark(); clearTimeout(typed); typed = setTimeout(() => take(editor.value), 350); });
editor.addEventListener('scroll', () => { $('gutter').scrollTop = editor.scrollTop; });
complete(editor, about => { if (about) $('here').textContent = about; else say_help(); });
for (const event of ['keyup', 'click']) editor.addEventListener(event, say_help);
$('stop').addEventListener('click', () => { again = false; stop(); });
$('keep').addEventListener('click', keep);
$('save-yaml').addEventListener('click', () => download('experiment.yaml', editor.value, 'text/yaml'));
$('save-csv').addEventListener('click', () => { if (last) for (const name of ['runs', 'curves', 'compare']) if (last[name].length) download(`${name}.csv`, last.files[`/lab/results/${name}.csv`], 'text/csv'); });
$('copy').addEventListener('click', async () => { try { await navigator.clipboard.writeText(location.href); status(`The link is copied: it holds all settings${location.protocol === 'file:' ? ', and opens where this file lies at the same place; on a web server it opens for all' : ''}.`); } catch { status('The address of this page holds all settings: copy it from there.'); } });
$('anew').addEventListener('click', () => take(first));
$('phase-go').addEventListener('click', run_phase);
$('phase-stop').addEventListener('click', () => phase_engine.stop());
$('phase-part').addEventListener('toggle', fill_phase);
for (const id of ['own-folder', 'own-files']) $(id).addEventListener('change', () => say_own(Promise.resolve([...$(id).files].map(file => ({ path: file.webkitRelativePath || file.name, file })))));
const of_files = event => event.dataTransfer.types.includes('Files'); // a text that is moved within an editor is not for this page
const dropping = on => document.body.classList.toggle('dropping', on);
document.addEventListener('dragover', event => { if (of_files(event)) { event.preventDefault(); dropping(true); } });
document.addEventListener('dragleave', event => { if (!event.relatedTarget) dropping(false); });
document.addEventListener('drop', event => {
    dropping(false);
    if (!of_files(event)) return;
    event.preventDefault();
    const list = [...event.dataTransfer.items].map(item => item.getAsFileSystemHandle?.() ?? item.webkitGetAsEntry());
    location.hash = 'own';
    say_own(inside_of(list));
});
addEventListener('hashchange', open_address);

course.bench = text => { location.hash = 'lab'; take(text); };
open_address().then(() => controls.open(engine, take)).then(() => { draw_controls(); say_help(); document.body.dataset.controls = 'there'; })
    .catch(e => say_wrong(`The program could not be started: ${e.message}`));
})();
