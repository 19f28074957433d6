// `dsgd explain ALGORITHM` step by step: a slider over time, what happens then, and the way that each model has gone until then.
const explain = (() => {
const engine = new Engine(), colours = ['#1b4f8a', '#b3541e', '#1b7a63', '#7a3b8f', '#1f2328'];
let told = null, summaries = null;

/** Hosts that a line is of, such as `0-2`, `0 3` or `server`. */
const hosts = words => words.trim().split(/ (?=\d)/).flatMap(word => {
    const [, from, to] = word.match(/^(\d+)-(\d+)$/) ?? [];
    return from === undefined ? [word] : Array.from({ length: to - from + 1 }, (_, k) => String(Number(from) + k));
});
/** What the program prints: {head, moments: [{time, lines: [{who, what}]}], end, best: where the loss is least}. */
function parse(out) {
    const [before, rest = ''] = out.split(/^ +time  worker\n/m), [during, after = ''] = rest.split(/\n\n(?=after )/), moments = [];
    for (const line of during.split('\n')) {
        const time = line.slice(0, 7).trim(), who = line.slice(9, 16).trim(), what = line.slice(16);
        if (time) moments.push({ time, lines: [] });
        if (who) moments.at(-1).lines.push({ who, what });
        else if (what) moments.at(-1).lines.at(-1).what += ` ${what.trim()}`;
    }
    return { head: before.trim().replace(/\s+/g, ' ').split(/ (?=\d+ workers? fit )/), moments, end: after.trimEnd(), best: before.replace(/\s+/g, ' ').match(/least at \((\S+), (\S+)\)/)?.slice(1).map(Number) };
}
/** The places of each host's model until moment @p now. */
function paths(now) {
    const begin = told.head.join(' ').match(/begin at \((\S+), (\S+)\)/)?.slice(1).map(Number), all = new Map();
    told.moments.forEach(({ lines }, k) => lines.forEach(({ who, what }) => {
        const x = what.match(/\bx = \((\S+), (\S+)\), F = /)?.slice(1).map(Number);
        for (const host of hosts(who)) {
            if (!all.has(host)) all.set(host, begin ? [begin] : []);
            if (x && k <= now) all.get(host).push(x);
        }
    }));
    return [...all].sort(([a], [b]) => a < b ? -1 : 1).map(([name, points], k) => ({ name: /^\d/.test(name) ? `worker ${name}` : name, points, look: { colour: colours[k % colours.length] } }));
}
const numbers_of = moments => moments.flatMap(m => m.lines).map(l => l.what.match(/\bx = \((\S+), (\S+)\), F = /)?.slice(1).map(Number)).filter(Boolean);

function show(now) {
    const slider = $('explain-at'), { time, lines } = told.moments[now];
    slider.ariaValueText = `${time} s`;
    $('explain-time').textContent = `${time} s`;
    $('explain-now').replaceChildren(...lines.map(({ who, what }) => make('li', {}, make('strong', {}, /^\d/.test(who) ? `worker${/\D/.test(who) ? 's' : ''} ${who}` : who), ` ${what}`)));
    $('explain-figure').replaceChildren(results.figure('Where each model is', width => charts.plane({ width: Math.min(width, 560), paths: paths(now), all: numbers_of(told.moments), best: told.best }), 'paths'));
}
async function open(name) {
    if (!summaries) {
        summaries = controls.listed((await engine.call(['list', 'algorithms'])).out);
        $('explain-name').replaceChildren(...summaries.map(({ name: own }) => make('option', {}, own)));
    }
    name = summaries.some(s => s.name === name) ? name : 'local_sgd';
    $('explain-name').value = name;
    const { out, err, rc } = await engine.call(['explain', name]);
    if (rc) { $('explain-head').textContent = err; return; }
    told = parse(out);
    $('explain-head').replaceChildren(make('strong', {}, told.head[0]), `. ${told.head.slice(1).join(' ')}`);
    $('explain-end').textContent = told.end;
    Object.assign($('explain-at'), { max: told.moments.length - 1, value: 0 });
    show(0);
}
$('explain-at').addEventListener('input', () => show(Number($('explain-at').value)));
$('explain-name').addEventListener('change', () => { location.hash = `explain/${$('explain-name').value}`; });
for (const [id, by] of [['explain-back', -1], ['explain-on', 1]]) $(id).addEventListener('click', () => {
    const slider = $('explain-at');
    slider.value = Number(slider.value) + by;
    if (told) show(Number(slider.value));
});
return { open };
})();
