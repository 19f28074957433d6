// A folder of results as a page shows it: the program's verdict, a table of means, and figures.
const results = (() => {
const looks = JSON.parse($('looks').textContent), dashes = { 1: '', 2: '7 3', 3: '2 3', 4: '9 3 2 3', 5: '12 4' };
const finish = ([colour, dash, fill]) => ({ colour, dash: dashes[dash], fill: Number(fill),
    dark: parseInt(colour.slice(1, 3), 16) * 0.3 + parseInt(colour.slice(3, 5), 16) * 0.6 + parseInt(colour.slice(5), 16) * 0.1 < 140 });

/** A look for each label: an algorithm's own one, as in all figures of the program; others take colours that are spare. */
function looks_of(labels) {
    const own = labels.map(label => looks.own[label]), used = new Set(own.filter(Boolean).map(look => look[0])), seen = new Set(used);
    return Object.fromEntries(labels.map((label, k) => {
        const look = own[k] ?? looks.spare.find(spare => !seen.has(spare[0])) ?? looks.spare[k % looks.spare.length];
        seen.add(look[0]);
        return [label, finish(look)];
    }));
}

/** Simulates an experiment, by several engines in shards; answers with what is wrong, or nothing. */
async function simulate(engines, { text, folder, cwd, line, file }) {
    const n = engines.length, parts = engines.map((_, k) => n > 1 ? `${folder}.${k + 1}` : folder);
    const all = await Promise.all(engines.map((engine, k) => engine.call(['run', file, '-o', parts[k], '--force', '--progress', 'json', ...(n > 1 ? ['--shard', `${k + 1}/${n}`] : [])],
        { cwd, line, files: { [`${cwd}/${file}`]: text }, remove: [`${cwd}/${parts[k]}`], read: k ? [`${cwd}/${parts[k]}/manifest.json`, `${cwd}/${parts[k]}/.parts`] : [] })));
    const failed = all.find(ran => ran.rc && ran.rc !== 5);
    if (failed) return failed.err.split('\n').filter(l => l && l[0] !== '{').join('\n') || `exit status ${failed.rc}`;
    const merged = n > 1 ? await engines[0].call(['merge', ...parts, '-o', folder, '--force'], { cwd, files: Object.assign({}, ...all.map(ran => ran.files)) }) : { rc: 0 };
    return merged.rc ? merged.err : undefined;
}
/** Simulates an experiment, or with `text` undefined reads what is in the folder, and gives what is to be drawn. */
async function run(engine, { text, folder, cwd = '/lab', line, file = 'experiment.yaml', others = [] }) {
    const failed = text === undefined ? undefined : await simulate([engine, ...others], { text, folder, cwd, line, file });
    if (failed) return { failed };
    const { out, rc, err, files } = await engine.call(['compare', folder, '--ratio'], { cwd, remove: [`${cwd}/${folder}/compare.csv`], read: [`${cwd}/${folder}`] });
    const table = name => csv(files[`${cwd}/${folder}/${name}.csv`] ?? '');
    const data = { text, cwd, folder, file, runs: table('runs'), curves: table('curves'), ages: table('staleness'), compare: table('compare'), files, said: out };
    if (!data.runs.length || rc && !data.compare.length) return { failed: err || 'there are no results', ...data };
    const head = data.compare.head, keys = head.slice(0, head.indexOf('label'));
    const same = (a, b) => a === b || a !== '' && Number(a) === Number(b);
    for (const row of data.compare) row.of = data.runs.filter(r => keys.every(key => r[key] === undefined || same(r[key], row[key])));
    data.keys = keys.filter(key => !key.startsWith('algorithm') && unique(data.compare.map(row => row[key])).length > 1);
    for (const row of data.compare) // a label says what tells rows apart; what is of the place is said there
        row.label = row.label.split('; ').filter((part, k) => {
            const key = k === 0 ? undefined : data.keys.find(own => part.startsWith(`${name_of(own).replaceAll(' ', '_')} `));
            if (key) row[key] = part.slice(name_of(key).length + 1);
            return key === undefined;
        }).join('; ');
    for (const row of data.compare) row.place = data.keys.map(key => key === 'workers' ? `${row[key]} workers` : `${name_of(key)} ${row[key]}`).join(', ');
    data.places = unique(data.compare.map(row => row.place));
    data.labels = unique(data.compare.map(row => row.label));
    data.looks = looks_of(data.labels);
    return data;
}

/** Rows of what workers do, out of a trace of `dsgd timeline`: {panel, end}. */
function panel_of(label, events) {
    const state = new Map(), steps = new Map(), rows = new Map();
    for (const e of events) if (e.ph === 'M' && e.name === 'thread_name') (e.args?.name === 'state' ? state : e.args?.name === 'steps' ? steps : new Map()).set(`${e.pid}.${e.tid}`, 1);
    for (const e of events) {
        if (e.ph !== 'X') continue;
        const at = `${e.pid}.${e.tid}`;
        if (!rows.has(e.pid)) rows.set(e.pid, { name: String(e.pid - 1), events: [], begins: [] });
        const row = rows.get(e.pid), who = e.args?.for?.match(/^worker (\d+)/)?.[1];
        if (steps.has(at)) row.begins.push(e.ts / 1e6);
        if (state.has(at)) row.events.push({ at: e.ts / 1e6, for: e.dur / 1e6, kind: ['wait', 'communicate'].includes(e.name) ? e.name : 'compute', who, why: who ? `waits for ${e.args.for}` : e.name });
    }
    return { label, rows: [...rows.values()].filter(row => row.events.length).sort((a, b) => a.name - b.name) };
}
/** Those of the first six rows, of which each engine of some does its share. */
async function panels(engines, data, place) {
    const all = await Promise.all(data.compare.filter(r => r.place === place && r.of.length).slice(0, 6).map(async (row, k) => {
        const engine = engines[data.text !== undefined ? k % engines.length : 0];
        const run = row.of[0], file = '/lab/trace.json', source = data.text !== undefined ? data.file : data.folder;
        const { rc, files } = await engine.call(['timeline', source, '--run', run.run, '--steps', '0:4', '--workers', `0-${Math.min(7, run.workers - 1)}`, '--format', 'json', '-o', file],
            { cwd: data.cwd, read: [file], files: data.text !== undefined ? { [`${data.cwd}/${data.file}`]: data.text } : {} });
        return rc === 0 ? [panel_of(row.label, JSON.parse(files[file]).traceEvents)] : [];
    }));
    return all.flat();
}

// --- the page's parts

const drawn = new Map();
let n_tables = 0;
const name_of = key => key.split('.').at(-1).replaceAll('_', ' ').replace(/ (bytes per s|s)$/, '');
/** A figure that is drawn again by the width that it gets. */
function figure(caption, draw, name) {
    const box = make('div', { className: 'drawing' });
    const element = make('figure', {}, make('figcaption', {}, make('span', {}, caption), make('span', { className: 'saves' },
        button('SVG', () => download(`${name}.svg`, svg_text(box.firstChild), 'image/svg+xml'), { ariaLabel: `download ${caption} as SVG` }),
        button('PNG', () => download_png(`${name}.png`, box.firstChild), { ariaLabel: `download ${caption} as PNG` }))), box);
    drawn.set(box, draw);
    requestAnimationFrame(() => { redraw(box); forget(); });
    return element;
}
const redraw = box => { if (box.clientWidth) box.replaceChildren(drawn.get(box)(box.clientWidth)); };
const forget = () => { for (const box of drawn.keys()) if (!box.isConnected) drawn.delete(box); };
addEventListener('resize', () => { forget(); for (const box of drawn.keys()) redraw(box); });

const measures = [['throughput_samples_per_s', 'samples/s'], ['step_mean_s', 'step (s)'], ['final_loss', 'loss'], ['final_accuracy', 'accuracy'],
    ['staleness_mean', 'staleness'], ['sent_mean_bytes', 'sent']];
const percent = x => Number.isNaN(x) ? '' : `${(100 * x).toFixed(0)} %`;
function table(data) {
    const shown = measures.filter(([key]) => data.compare.some(row => number(row[`${key}_mean`]) > 0));
    const cell = (row, key) => {
        const x = number(row[`${key}_mean`]), ci = number(row[`${key}_ci`]);
        return key === 'sent_mean_bytes' ? charts.with_unit(x, 'B') : charts.short(x) + (ci > 0 ? ` ± ${charts.short(ci)}` : '');
    };
    const share = name => row => percent(mean(row.of.map(r => number(r[`${name}_share`]))));
    const columns = [...data.keys.map(key => [name_of(key), row => row[key]]), ...shown.map(([key, name]) => [name, row => cell(row, key)])];
    columns.splice(data.keys.length + 1, 0, ['times', row => charts.short(number(row.throughput_samples_per_s_ratio))]);
    columns.push(['compute', share('compute')], ['wait', share('wait')], ['communicate', share('comm')]);
    return make('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: `results ${++n_tables}` }, make('table', {},
        make('thead', {}, make('tr', {}, make('td'), ...columns.map(([name]) => make('th', { scope: 'col', className: 'n' }, name)))),
        make('tbody', {}, ...data.compare.map(row => make('tr', {}, make('th', { scope: 'row' }, row.label),
            ...columns.map(([, text]) => make('td', { className: 'n' }, text(row))))))));
}
/** The program's own sentences, of `dsgd compare`, but for commands that repeat them: paragraphs of its verdict and of its notes. */
function sentences(said) {
    const all = { verdicts: [], warnings: [], notes: [] };
    let into = all.verdicts, before = '';
    for (const line of said.trimEnd().split('\n\n').at(-1).split('\n')) {
        const heading = line.match(/^(verdict|warning|note)s?:$/), place = /^\S.*:$/.test(line), goes_on = line[0] === ' ' ? into.length > 0 : before === 'words' && !place;
        if (heading) into = all[`${heading[1]}s`];
        else if (goes_on) into.push(`${into.pop()} ${line.trim()}`);
        else into.push(line.trim());
        before = heading || place || line[0] === ' ' ? '' : 'words';
    }
    return Object.entries(all).filter(([, texts]) => texts.length).map(([className, texts]) => make('ul', { className }, ...texts.map(text => make('li', {}, text.replace(/; `dsgd run [^`]*` with .*$/, '.')))));
}

const traffic = (data, run) => number(run.sent_mean_bytes) / number(run.steps);
function curves_of(data, place, by) {
    const all = [];
    for (const row of data.compare.filter(r => r.place === place)) for (const run of row.of) {
        const points = data.curves.filter(c => c.run === run.run && c.loss !== '' && Number.isFinite(Number(c.loss))).map(c => [by === 'bytes' ? number(c.steps) * traffic(data, run) : number(c.virtual_s), number(c.loss)]);
        if (points.length > 1 && points.at(-1)[0] > 0) all.push({ name: row.label, look: data.looks[row.label], points, thin: row.of.length > 1 });
    }
    return all;
}

/** Puts all of @p data into @p element; @p scale holds the ends of axes that two set-ups share. */
function show(element, data, scale = {}, choose = null, place = data.places.at(-1)) {
    const throughput = row => number(row.throughput_samples_per_s_mean), interval = row => { const ci = number(row.throughput_samples_per_s_ci); return ci > 0 ? { low: throughput(row) - ci, high: throughput(row) + ci } : {}; };
    const groups = data.places.map(label => ({ label, rows: data.compare.filter(r => r.place === label && throughput(r) > 0).map(r => ({ name: r.label, look: data.looks[r.label], value: throughput(r), ...interval(r) })) }));
    const figures = [];
    if (groups.some(g => g.rows.length)) figures.push(figure('Throughput (samples/s)', width => charts.bars({ width, groups, unit: 'samples/s', most: scale.throughput }), 'throughput'));
    for (const [by, caption, x_label, x_unit] of [['time', 'Loss over virtual time', 'virtual time', 's'], ['bytes', 'Loss over bytes', 'sent per worker', 'B']]) {
        const curves = curves_of(data, place, by);
        if (curves.length) figures.push(figure(caption, width => charts.lines({ width, curves, x_label, x_unit, y_label: 'loss', most: scale[by] }), `loss-${by}`));
    }
    const measure = ['staleness', 'gradient_staleness'].find(m => data.ages.some(a => a.measure === m && Number(a.age) > 0));
    const shares = measure ? data.compare.filter(r => r.place === place && r.of.length).map(r => ({ label: r.label, look: data.looks[r.label], shares: data.ages.filter(a => a.run === r.of[0].run && a.measure === measure).map(a => [number(a.age), number(a.share)]) })).filter(p => p.shares.length) : [];
    if (shares.length) figures.push(figure('Staleness', width => charts.ages({ width, panels: shares, x_label: measure === 'staleness' ? 'age of values (steps)' : 'age of gradients (steps)' }), 'staleness'));
    const places = data.places.length > 1 && (choose || figures.length > 1) ? [make('p', { className: 'places' }, make('label', {}, 'Curves and timelines of ', (() => {
        const s = make('select', {}, ...data.places.map(p => make('option', {}, p)));
        s.value = place;
        s.addEventListener('change', () => { show(element, data, scale, choose, s.value); choose?.(s.value); });
        return s;
    })()))] : [];
    const timeline = make('div', { className: 'timeline' });
    element.replaceChildren(...sentences(data.said), table(data), ...places, make('div', { className: 'figures' }, ...figures), timeline);
    return { timeline, place };
}
function show_panels(timeline, all, scale = {}, caption = 'The first four steps') {
    if (all.length) timeline.replaceChildren(figure(caption, width => charts.gantt({ width, panels: all, most: scale.timeline }), 'timeline'));
}
const scale_of = data => ({ throughput: Math.max(0, ...data.compare.map(r => number(r.throughput_samples_per_s_mean) + (number(r.throughput_samples_per_s_ci) || 0) || 0)),
    time: Math.max(0, ...curves_of(data, data.places.at(-1), 'time').map(c => c.points.at(-1)[0])), bytes: Math.max(0, ...curves_of(data, data.places.at(-1), 'bytes').map(c => c.points.at(-1)[0])) });

return { run, show, panels, panel_of, show_panels, figure, looks_of, scale_of };
})();
