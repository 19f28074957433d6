// Controls made of the JSON Schema of an experiment, `dsgd describe experiment --json`: one for each key that the text has, and lists of
// those that it may have. Each changes the text in place.
const controls = (() => {
let schema = { $defs: {} }, shipped = {}, text = '', changed = null, ranges = new Map();

const words_of = { platform: 'platforms', workload: 'workloads', imbalance: 'imbalance' };
/** Names and summaries out of what `dsgd list` prints. */
const listed = out => out.replace(/\n +/g, ' ').split('\n').map(line => line.match(/^(\S+) +(.*)/)).filter(Boolean)
    .map(([, name, summary]) => ({ name, summary })).filter(({ summary }) => !summary.startsWith('data sets, which'));

async function open(engine, on_change) {
    changed = on_change;
    for (const [key, kind] of Object.entries(words_of)) shipped[key] = listed((await engine.call(['list', kind])).out);
    schema = JSON.parse((await engine.call(['describe', 'experiment', '--json'])).out);
}

// --- what the schema says of a key

/** All alternatives of a schema, without those of sweeps. */
function alternatives(s) {
    if (s.$ref) return alternatives(schema.$defs[s.$ref.slice(8)]);
    if (s.anyOf && !s.type) return s.anyOf.flatMap(alternatives);
    return s.properties?.sweep ? [] : [s];
}
const name_key = s => ['name', 'kind'].find(key => s.properties?.[key]?.const !== undefined);
function shape(s) {
    const all = alternatives(s), of = type => all.find(a => a.type === type);
    return { number: of('number') ?? of('integer'), pattern: all.find(a => a.pattern)?.pattern, words: all.find(a => a.enum)?.enum ?? [],
        bool: of('boolean'), list: of('array'), record: all.find(a => a.properties && !name_key(a)), about: s.description ?? '', base: s.default,
        named: all.filter(name_key).map(a => ({ ...a, name: a.properties[name_key(a)].const, called: name_key(a), about: a.properties[name_key(a)].description ?? '' })) };
}
const units_of = of => of.pattern?.match(/\(([^()]*)\)\$$/)?.[1].split('|').map(unit => unit.replace(/^ \?/, '')) ?? [''];
const factors = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, ps: 1e-12, min: 60, h: 3600, 'ps/B': 1e-12, 'ns/B': 1e-9, 'us/B': 1e-6, '%': 0.01,
    'kB/s': 1e3, 'MB/s': 1e6, 'GB/s': 1e9, 'Mb/s': 1.25e5, 'Gb/s': 1.25e8, k: 1e3, M: 1e6, G: 1e9, kB: 1e3, MB: 1e6, GB: 1e9, B: 1,
    Ki: 1024, Mi: 2 ** 20, Gi: 2 ** 30, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, Mf: 1e6, Gf: 1e9, Tf: 1e12, W: 1, kW: 1e3, '': 1 };
const preferred = ['GB/s', 'MB/s', 'kB/s', 's', 'ms', 'us', 'ns', 'ns/B', 'ps/B', 'GB', 'MB', 'kB', 'Gf', 'W'];
function quantity(value) {
    const [, digits, unit] = /^([-+]?[\d.]+(?:e[-+]?\d+)?) *([A-Za-z%][A-Za-z/]*)?$/i.exec(value ?? '') ?? [];
    return digits === undefined ? NaN : Number(digits) * (factors[unit ?? ''] ?? NaN);
}
function write(x, of) {
    if (of.number.type === 'integer') return String(Math.round(x));
    const units = units_of(of), unit = preferred.filter(u => units.includes(u)).find(u => Math.abs(x) >= factors[u]) ?? '';
    return String(Number((x / factors[unit]).toPrecision(2))) + (x === 0 ? '' : unit);
}

// --- elements

let n = 0;
const row = (name, about, control, ...more) => {
    const id = `c${++n}`;
    control.id = id;
    return make('div', { className: 'field', title: about }, make('label', { htmlFor: id }, name), control, ...more);
};
const edit = (change, again = true) => {
    try { text = change(text); } catch { return; }
    changed(text, again);
};
const select = (options, now, choose) => {
    const element = make('select', {}, ...(options.some(o => o.name === now) ? [] : [make('option', { value: now }, now)]),
        ...options.map(({ name, about }) => make('option', { value: name, title: about ?? '' }, name)));
    element.value = now;
    element.addEventListener('change', () => choose(element.value));
    return element;
};
const choice = (label, options, choose, shown = label) => {
    const element = make('select', { className: shown === '+' ? 'plus' : 'add', ariaLabel: label, title: label }, make('option', { value: '' }, shown),
        ...options.map(({ name, about }) => make('option', { value: name, title: about }, about ? `${name}: ${about.slice(0, 60)}` : name)));
    element.addEventListener('change', () => element.value && choose(options.find(o => o.name === element.value)));
    return options.length ? [element] : [];
};
const cross = (path, name) => button('×', () => edit(t => yaml.remove(t, path)), { className: 'cross', ariaLabel: `remove ${name}`, title: `remove ${name}` });

/** Ends of a slider from 0 on, by a unit of its number; times that are 10 s at most are latencies. */
const from_zero = { 'GB/s': [1e7, 1e12], 'ns/B': [1e-12, 1e-8], ms: [1e-6, 1], MB: [1e3, 1e10] };
/** Ends of a slider: decades around the value where the scale is logarithmic, which stay while it moves. */
function range_of(key, x, of, path) {
    const kept = ranges.get(key);
    if (kept && (x >= kept.low && x <= kept.high || kept.zero && x === 0)) return kept;
    const { minimum = 0, maximum = Infinity, type } = of.number, p = Math.log10(x);
    const two = path.at(-1) === 'workers' && path.length === 1 || /power of two/.test(of.about);
    let range;
    if (two) range = { low: Math.max(1, minimum), high: Math.max(256, 2 ** Math.ceil(Math.log2(x))), log: 2 };
    else if (maximum <= 1 && minimum >= 0) range = { low: minimum, high: maximum, log: 0, step: 0.01 };
    else if (type === 'integer' && x < 10) range = { low: Math.max(minimum, 0), high: Math.min(maximum, 16), log: 0, step: 1 };
    else if (x > 0) range = { low: Math.max(minimum, 10 ** Math.floor(p - 0.7)), high: Math.min(maximum, 10 ** Math.ceil(p + 0.7)), log: 10 };
    else if (x === 0) {
        const [low, high] = Object.entries(from_zero).find(([unit]) => units_of(of).includes(unit))?.[1] ?? [1, 1000];
        const wide = high === 1 && maximum > 10 ? 1e5 : 1;
        range = { low: low * wide, high: Math.min(high * wide, maximum), log: 10, zero: true };
    }
    if (range) ranges.set(key, range);
    return range;
}

function number_field(name, path, of, node, more) {
    const key = path.join('.'), now = quantity(node.value), range = range_of(key, now, of, path);
    const exact = make('input', { className: 'exact', value: node.value, spellcheck: false, ariaLabel: `${name}, exact` });
    exact.addEventListener('change', () => edit(t => yaml.set(t, path, exact.value)));
    if (!range) return row(name, of.about, exact, ...more);
    const least = range.zero ? Math.log10(range.low) - 0.1 : 0; // where 0 is on a logarithmic scale
    const f = range.zero && now === 0 ? () => least : range.log ? x => Math.log(x) / Math.log(range.log) : x => x;
    const g = range.log ? p => range.zero && p < least + 0.05 ? 0 : range.log ** p : p => p;
    const slider = make('input', { type: 'range', min: range.zero ? least : f(range.low || 1), max: range.log ? Math.log(range.high) / Math.log(range.log) : range.high, step: range.step ?? (range.log === 2 ? 1 : 'any') });
    slider.value = f(now);
    slider.ariaValueText = node.value;
    slider.addEventListener('input', () => {
        const literal = write(g(Number(slider.value)), of);
        exact.value = slider.ariaValueText = literal;
        edit(t => yaml.set(t, path, literal), false);
    });
    slider.addEventListener('keydown', event => { // an arrow moves a logarithmic scale by a tenth of a decade
        const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (!by || range.log !== 10) return;
        event.preventDefault();
        slider.value = Number(slider.value) + by / 10;
        slider.dispatchEvent(new Event('input'));
    });
    return row(name, of.about, slider, exact, ...more);
}

/** What is written where a key is added: its default, or the least that is allowed. */
function first_value(s) {
    const of = shape(s), base = of.base;
    if (of.number && typeof base === 'number') return write(base || Math.max(of.number.minimum, 0), of);
    if (base !== undefined) return String(base);
    if (of.number) return units_of(of).includes('ms') ? '100ms' : write(Math.max(of.number.minimum, of.number.maximum > 1 && of.number.type === 'integer' ? 1 : 0.1), of);
    if (of.named.length) return with_required(of.named.find(v => v.name === of.words[0]) ?? of.named[0]);
    if (of.record) return `{${(of.record.required ?? []).map(key => `${key}: ${first_value(of.record.properties[key])}`).join(', ')}}`;
    return of.words[0] ?? (of.list ? '[]' : '""');
}
function with_required(variant, alone = true) {
    const keys = (variant.required ?? []).filter(key => key !== variant.called);
    if (alone && !keys.length && variant.called === 'name') return variant.name;
    return `{${[`${variant.called}: ${variant.name}`, ...keys.map(key => `${key}: ${first_value(variant.properties[key])}`)].join(', ')}}`;
}

/** Controls of the keys of a map, behind a list of those that it lacks. */
function keys(path, properties, node, called, name) {
    const names = node.type === 'map' ? node.items.filter(at => at.key !== called) : [], hidden = [called, 'label', 'summary', 'origin', ...names.map(at => at.key)];
    const there = names.filter(at => properties[at.key])
        .flatMap(at => field(at.key, [...path, at.key], properties[at.key], at.value, [cross([...path, at.key], at.key)]));
    const absent = Object.entries(properties).filter(([key]) => !hidden.includes(key)).map(([own, s]) => ({ name: own, about: s.description ?? '' }));
    const add = choice(`add an option of ${name}`, absent, o => edit(t => yaml.set(t, [...path, o.name], first_value(properties[o.name]), called ?? 'name')), '+');
    return [add, there];
}

/** One of named variants, such as an algorithm, with its options. */
function variant_field(name, path, of, node, more, extra = [], kind = 'name') {
    const called = of.named[0]?.called ?? kind, now = node.type === 'map' ? yaml.get(node, [called])?.value ?? '' : node.value;
    const variant = of.named.find(v => v.name === now);
    const options = [...of.named.map(v => ({ name: v.name, about: v.about })), ...extra];
    const choose = to => edit(t => yaml.set(t, path, of.named.some(v => v.name === to) ? with_required(of.named.find(v => v.name === to)) : to));
    const [add, there] = keys(path, variant?.properties ?? of.record?.properties ?? {}, node, variant?.called ?? called, now);
    const about = variant?.about ?? extra.find(e => e.name === now)?.about ?? of.about;
    return [make('div', { className: 'part' }, row(name, about, select(options, now, choose), ...add, ...more), ...there)];
}

function field(name, path, s, node, more = []) {
    const of = shape(s), raw = () => {
        const input = make('input', { value: text.slice(node.start, node.end), spellcheck: false });
        input.addEventListener('change', () => edit(t => yaml.set(t, path, input.value)));
        return [row(name, of.about, input, ...more)];
    };
    const names = (shipped[path[0]] ?? []).map(({ name: own, summary }) => ({ name: own, about: summary }));
    if (path.length === 1 && ['platform', 'workload'].includes(path[0]) && !yaml.get(node, ['sweep']) && node.type !== 'seq') {
        const called = path[0] === 'platform' ? 'name' : 'like', now = node.type === 'map' ? yaml.get(node, [called])?.value ?? 'own values' : node.value;
        const choose = to => edit(t => node.type === 'map' ? yaml.set(t, [...path, called], to) : yaml.set(t, path, to));
        const [add, there] = keys(path, of.record.properties, node, called, name);
        return [row(name, names.find(o => o.name === now)?.about ?? of.about, select(names, now, choose), ...add, ...more), ...there];
    }
    if (path.length === 1 && ['imbalance', 'algorithms'].includes(path[0])) {
        const one = shape(path[0] === 'imbalance' ? of.list.items : of.list.items), parts = node.type === 'seq' ? node.items.map(at => [at.value, [...path, at.key]]) : node.value === '' ? [] : [[node, path]];
        const extra = path[0] === 'imbalance' ? names.filter(o => !one.named.some(v => v.name === o.name)) : [];
        return [...parts.flatMap(([at, where], k) => variant_field(`${k + 1}`, where, one, at, [cross(where, `${name} ${k + 1}`)], extra)),
            ...choice(name === 'algorithms' ? 'add an algorithm …' : 'add an imbalance …', [...one.named, ...extra].map(v => ({ ...v, about: v.about })),
                o => edit(t => yaml.append(t, path, o.properties ? with_required(o) : o.name)))];
    }
    if (node.type === 'seq' || yaml.get(node, ['sweep'])) return raw();
    if (of.named.length) return variant_field(name, path, of, node, more);
    if (of.record && (node.type === 'map' || node.value === '')) {
        const [add, there] = keys(path, of.record.properties, node, undefined, name);
        return [make('div', { className: 'part' }, make('p', { className: 'part-name', title: of.about }, make('span', {}, name), ...add, ...more), ...there)];
    }
    if (of.number && node.type === 'scalar' && !Number.isNaN(quantity(node.value))) return [number_field(name, path, of, node, more)];
    const words = of.bool ? ['true', 'false'] : of.words;
    if (words.length && !of.number && node.type === 'scalar')
        return [row(name, of.about, select(words.map(w => ({ name: w })), node.value, to => edit(t => yaml.set(t, path, to))), ...more)];
    return raw();
}

const closed = new Set(['Job', 'How long', 'Learning', 'Further', ...(innerWidth < 960 ? ['Algorithms', 'Cluster'] : [])]);
const order = ['workers', 'algorithms', 'imbalance', 'platform', 'workload', 'until', 'learn'];
const heads = { platform: 'Cluster', workload: 'Job', imbalance: 'Imbalance', algorithms: 'Algorithms', workers: 'Workers', until: 'How long', learn: 'Learning' };

/** Puts controls for @p now into @p place; false: it is for the program alone to read. */
function draw(place, now) {
    text = now;
    let root;
    try { root = yaml.parse(text); } catch { return false; }
    const properties = schema.properties ?? {}, focus = document.activeElement?.closest?.('.controls-of [id]')?.id;
    n = 0;
    const present = root.items?.filter(at => properties[at.key] && !['name', 'task'].includes(at.key)) ?? [];
    present.sort((a, b) => (order.indexOf(a.key) + 1 || 99) - (order.indexOf(b.key) + 1 || 99));
    const rest = present.filter(at => !order.includes(at.key)), absent = Object.keys(properties).filter(key => !['name', 'task'].includes(key) && !present.some(at => at.key === key));
    const group = (legend, ...inside) => {
        const element = make('details', { open: !closed.has(legend) }, make('summary', {}, legend), ...inside);
        element.addEventListener('toggle', () => closed[element.open ? 'delete' : 'add'](legend));
        return element;
    };
    place.replaceChildren(...present.filter(at => order.includes(at.key)).map(at => group(heads[at.key], ...field(at.key, [at.key], properties[at.key], at.value))),
        group('Further', ...rest.flatMap(at => field(at.key, [at.key], properties[at.key], at.value, [cross([at.key], at.key)])),
            ...choice('add …', absent.map(name => ({ name, about: properties[name].description })), o => edit(t => `${t.trimEnd()}\n${o.name}: ${first_value(properties[o.name])}\n`))));
    if (focus) $(focus)?.focus();
    return true;
}

/** What the schema says at a place in the text: {path, about, options: what may stand there}. */
function help(now, place) {
    try {
        const { path } = yaml.at(yaml.parse(now), place);
        let at = schema, about = '';
        for (const key of path) {
            const all = alternatives(at), next = typeof key === 'number' ? all.find(a => a.items)?.items : all.map(a => a.properties?.[key]).find(p => p);
            if (!next) continue;
            [at, about] = [next, next.description ?? about];
        }
        const of = shape(at), base = of.base === undefined ? '' : ` Default: ${of.number && typeof of.base === 'number' ? write(of.base, of) : of.base}.`;
        const words = unique([...of.words, ...of.named.map(v => v.name)]), inside = of.record ? Object.keys(of.record.properties) : [];
        return { path: path.join(' › ') || 'experiment', about: about + base + (words.length ? ` One of ${words.join(', ')}.` : inside.length ? ` Keys: ${inside.join(', ')}.` : '') };
    } catch { return null; }
}

/** Alternatives that a map may be: of those that its name or kind chooses, the chosen one, unless @p key is to choose. */
function fitting(all, node, key) {
    const chosen = name => yaml.get(node, [name])?.value;
    return all.filter(a => a.properties && (!name_key(a) || key === name_key(a) || chosen(name_key(a)) === a.properties[name_key(a)].const));
}
const is_number = a => a.type === 'number' || a.type === 'integer';
/** What is written for a key, and where what belongs to it begins. */
function key_text(key, s, indent) {
    const all = alternatives(s), of = type => all.some(a => a.type === type);
    if (indent === null || !of('object') && !of('array') || all.some(a => a.enum || a.const || is_number(a)) || of('string') || of('boolean')) return `${key}: `;
    return `${key}:\n${' '.repeat(indent + 2)}${of('array') ? '- ' : ''}`;
}

/** What may stand at a place of the text, in place of what is written from `from` to there: {from, options: [{name, text, about}]}. */
function suggest(now, place) {
    const before = now.slice(0, place), line = before.slice(before.lastIndexOf('\n') + 1), rest = now.slice(place);
    if (/(^|\s)#/.test(line) || /^[\w.-]/.test(rest)) return null;
    const [written] = before.match(/[A-Za-z0-9_][\w.-]*$|$/), head = before.slice(0, before.length - written.length), mark = 'what-is-asked-for', open = [];
    for (const c of line.replace(/"[^"]*"|'[^']*'/g, '')) if ('{['.includes(c)) open.unshift(c === '{' ? '}' : ']'); else if ('}]'.includes(c)) open.shift();
    const own = [], is_key = /^ *:( |\n|$)/.test(rest), closed = [...new Set(['', open.join('')])];
    /** The path of the mark, and whether it is a key. */
    const search = (node, path) => node.items ? node.items.map(at => at.key === mark ? { path, key: true } : search(at.value, [...path, at.key])).find(one => one) : node.value === mark ? { path } : undefined;
    for (const what of is_key ? [mark] : [`${mark}: 0`, mark]) for (const close of closed) {
        let root, found;
        try { root = yaml.parse(head + what + close + rest); found = search(root, []); } catch { continue; }
        if (!found) continue;
        let all = alternatives(schema), node = root;
        for (const key of found.path) {
            all = typeof key === 'number' ? all.flatMap(a => a.items ? alternatives(a.items) : []) : fitting(all, node, key).flatMap(a => a.properties[key] ? alternatives(a.properties[key]) : []);
            node = yaml.get(node, [key]);
        }
        if (found.key) {
            const indent = node.flow || is_key ? null : node.indent, chosen = fitting(all, node), named = all.filter(name_key);
            const properties = Object.assign({}, ...named.map(a => ({ [name_key(a)]: { description: 'which one' } })), ...chosen.map(a => a.properties));
            own.push(...Object.entries(properties).filter(([key]) => !node.items.some(at => at.key === key)).map(([name, s]) => ({ name, text: is_key ? name : key_text(name, s, indent), about: s.description ?? '' })));
        } else {
            const [top, last] = [found.path[0], found.path.at(-1)], names = top === 'imbalance' ? typeof last === 'number' || last === top : found.path.length === 1 || found.path.length === 2 && last === { platform: 'name', workload: 'like' }[top];
            const about = Object.fromEntries(all.filter(name_key).map(a => [a.properties[name_key(a)].const, a.properties[name_key(a)].description]));
            const words = [...all.flatMap(a => a.enum ?? []), ...all.filter(a => a.const !== undefined).map(a => a.const), ...(all.some(a => a.type === 'boolean') ? ['true', 'false'] : [])];
            for (const a of all) if (a.const !== undefined) about[a.const] = a.description;
            own.push(...unique(words).map(name => ({ name, text: name, about: about[name] ?? '' })), ...(names ? (shipped[top] ?? []).map(({ name, summary }) => ({ name, text: name, about: summary })) : []));
        }
        break;
    }
    const low = written.toLowerCase(), rank = ({ name }) => name.toLowerCase().startsWith(low) ? 0 : low.length > 1 && name.toLowerCase().includes(low) ? 1 : 2;
    return { from: head.length, options: own.filter(o => rank(o) < 2).sort((a, b) => rank(a) - rank(b)) };
}

/** Numbers of the experiment that a phase diagram may sweep: {path, value}. */
function numbers(now) {
    const all = [], walk = (node, path) => {
        if (node.type === 'scalar') { if (quantity(node.value) > 0 && !['seed', 'name', 'learn'].includes(path[0]) && path[0] !== 'until') all.push({ path, value: node.value }); }
        else for (const at of node.items) walk(at.value, [...path, at.key]);
    };
    try { walk(yaml.parse(now), []); } catch { /* the program says what is wrong */ }
    return all;
}
return { open, draw, help, suggest, numbers, quantity, listed };
})();
