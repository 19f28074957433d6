// Figures as SVG that carries all of its own style, so that a downloaded one looks as on the page. Widths are in pixels of the screen:
// a figure is drawn again where the page gets another width, and its text stays readable.
const charts = (() => {
const ink = '#222222', pale = '#666666', rule = '#d8d8d8', font = 'system-ui, sans-serif';
const el = (name, attributes = {}, ...inside) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, typeof value === 'number' ? +value.toFixed(2) : value);
    for (const one of inside.flat()) element.append(one);
    return element;
};
const text = (x, y, what, more = {}) => el('text', { x, y, fill: ink, 'font-size': 12, ...more }, what);
const title = what => el('title', {}, what);
const frame = (width, height, label, ...inside) =>
    el('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label, 'font-family': font }, ...inside);

/** A number in at most four digits, as the tables of the program have it. */
const short = x => {
    if (x === null || x === undefined || Number.isNaN(x)) return '';
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return Number(x.toPrecision(3)).toExponential().replace('e+', 'e');
    return String(Number(size >= 1000 ? x.toFixed(0) : x.toPrecision(size < 1 ? 3 : 4)));
};
const prefixes = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];
const with_unit = (x, unit) => {
    if (unit === '' || x === 0) return short(x) + (unit && ` ${unit}`);
    const [factor, prefix] = prefixes.find(([least]) => Math.abs(x) >= least * (unit === 's' && least > 1 ? Infinity : 1)) ?? [1e-9, 'n'];
    return `${short(x / factor)} ${prefix}${unit}`;
};

function ticks(low, high, n) {
    const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find(m => m * power >= raw) * power, all = [];
    for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) all.push(Math.abs(x) < step * 1e-9 ? 0 : x);
    return all;
}
function log_ticks(low, high) {
    const of = steps => { const all = [];
        for (let d = Math.floor(low); d <= high; d++) for (const m of steps) if (Math.log10(m) + d >= low - 1e-9 && Math.log10(m) + d <= high + 1e-9) all.push(m * 10 ** d);
        return all; };
    const few = of([1]);
    return few.length > 2 ? few.filter((_, k) => k % Math.ceil(few.length / 6) === 0) : of(high - low > 0.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8]);
}

/** A place on an axis from @p from to @p to pixels. */
function axis(low, high, from, to, log = false) {
    const f = log ? Math.log10 : x => x, a = f(low), b = f(high) > f(low) ? f(high) : f(low) + 1;
    const place = x => from + (to - from) * (f(x) - a) / (b - a);
    place.ticks = log ? log_ticks(a, b) : ticks(a, b, Math.max(2, Math.abs(to - from) / 70));
    return place;
}

const fill_of = look => look.fill === 3 ? { fill: look.colour, stroke: look.colour }
    : { fill: look.colour, 'fill-opacity': 0.45, stroke: look.colour, 'stroke-dasharray': look.dash };

/** Bars of throughput: rows {name, look, value, low, high}, in groups {label, rows}. */
function bars({ width, groups, unit, most }) {
    const left = margin(groups.flatMap(g => g.rows.map(r => r.name)), width), right = 64, height = 24, high = most ?? Math.max(...groups.flatMap(g => g.rows.map(r => r.high ?? r.value))), parts = [];
    const x = axis(0, high, left, width - right);
    let y = 4;
    for (const group of groups) {
        if (group.label) { parts.push(text(0, y + 14, group.label, { fill: pale })); y += 22; }
        for (const row of group.rows) {
            const to = x(row.value), far = x(row.high ?? row.value);
            parts.push(el('g', {}, title(`${row.name}: ${short(row.value)} ${unit}`),
                text(left - 8, y + 15, fit(row.name, left - 8), { 'text-anchor': 'end' }),
                el('rect', { x: left, y: y + 2, width: Math.max(0, to - left), height: height - 6, ...fill_of(row.look) }),
                ...(row.low === undefined ? [] : [el('path', { d: `M${x(Math.max(0, row.low))} ${y + 11}H${far}`, stroke: pale, 'stroke-width': 2 })]),
                text(Math.max(to, far) + 6, y + 15, short(row.value))));
            y += height;
        }
        y += 6;
    }
    return frame(width, y + 2, `bars of ${unit}`, ...parts);
}
/** Room for names on the left, at most two fifths of the width. */
const margin = (names, width) => Math.min(width * 0.4, 14 + 6.6 * Math.max(0, ...names.map(name => name.length)));
const fit = (name, width) => name.length * 6.6 <= width ? name : name.slice(0, Math.max(3, Math.floor(width / 6.6) - 1)) + '…';

/** Lines {name, look, points: [[x, y]]} over a linear axis; y is logarithmic where it is positive and spans a factor of 20. */
function lines({ width, height = 280, curves, x_label, y_label, x_unit = '', most }) {
    const ends = width > 480, right = ends ? Math.min(170, 26 + 7 * Math.max(...curves.map(c => c.name.length))) : 12, bottom = height - 40;
    const named = [...new Map(curves.map(c => [c.name, c])).values()], top = ends ? 26 : 30 + 16 * Math.ceil(named.length / 2);
    const ys = curves.flatMap(c => c.points.map(p => p[1])), low = Math.min(...ys), high = Math.max(...ys);
    const x = axis(0, most ?? Math.max(...curves.map(c => c.points.at(-1)[0])), 52, width - right);
    const y = axis(low > 0 && high / low > 20 ? low / 1.1 : Math.min(0, low), high, bottom, top, low > 0 && high / low > 20);
    const parts = [text(0, 14, y_label, { fill: pale }), text(width - right, height - 4, x_label, { 'text-anchor': 'end', fill: pale })];
    for (const t of y.ticks) parts.push(el('path', { d: `M52 ${y(t)}H${width - right}`, stroke: rule }), text(46, y(t) + 4, short(t), { 'text-anchor': 'end', fill: pale }));
    for (const t of x.ticks) parts.push(el('path', { d: `M${x(t)} ${bottom}v4`, stroke: pale }), text(x(t), bottom + 17, x_unit ? with_unit(t, x_unit) : short(t), { 'text-anchor': 'middle', fill: pale }));
    parts.push(el('path', { d: `M52 ${bottom}H${width - right}`, stroke: pale }));
    for (const { name, look, points, thin } of curves)
        parts.push(el('polyline', { fill: 'none', stroke: look.colour, 'stroke-width': thin ? 1 : 2, 'stroke-dasharray': look.dash, 'stroke-linejoin': 'round',
            points: points.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(' ') },
            title(`${name}: ${short(points.at(-1)[1])} at ${x_unit ? with_unit(points.at(-1)[0], x_unit) : short(points.at(-1)[0])}`)));
    if (ends) {
        const labels = named.map(c => ({ c, at: y(c.points.at(-1)[1]) })).sort((a, b) => a.at - b.at);
        labels.forEach((label, k) => { if (k) label.at = Math.max(label.at, labels[k - 1].at + 15); });
        for (let k = labels.length - 1, most = bottom; k >= 0; k--, most = labels[k + 1].at - 15) labels[k].at = Math.min(labels[k].at, most);
        for (const { c, at } of labels) parts.push(el('path', { d: `M${width - right + 4} ${at}h14`, stroke: c.look.colour, 'stroke-width': 3, 'stroke-dasharray': c.look.dash }), text(width - right + 22, at + 4, fit(c.name, right - 22)));
    } else named.forEach((c, k) => { const at = [k % 2 * width / 2, 34 + 16 * Math.floor(k / 2)];
        parts.push(el('path', { d: `M${at[0]} ${at[1] - 4}h16`, stroke: c.look.colour, 'stroke-width': 3, 'stroke-dasharray': c.look.dash }), text(at[0] + 22, at[1], fit(c.name, width / 2 - 24))); });
    return frame(width, height, `${y_label} over ${x_label}`, ...parts);
}

/** What workers do: rows {name, events: [{at, for, kind, why}]} of panels {label, rows}, in seconds. */
const kinds = { compute: '#3d4f66', communicate: '#d9a441', wait: '#e9e6df' };
/** When the last event of panels ends. */
const end_of = panels => panels.flatMap(p => p.rows).flatMap(r => r.events).reduce((end, e) => Math.max(end, e.at + e.for), 0);
const waited_for = '#a40a0f';
function gantt({ width, panels, most }) {
    const left = 34, height = 17, x = axis(0, most ?? end_of(panels), left, width - 12), parts = [];
    let y = 4, key = left;
    for (const [kind, what] of [['compute', 'compute'], ['communicate', 'communicate'], ['wait', 'wait, and for which worker']]) {
        if (key + 17 + 6.4 * what.length > width) [key, y] = [left, y + 18];
        parts.push(el('rect', { x: key, y, width: 12, height: 12, fill: kinds[kind] }), text(key + 17, y + 11, what));
        key += 34 + 6.4 * what.length;
    }
    y += 26;
    for (const panel of panels) {
        parts.push(text(0, y + 12, panel.label, { 'font-weight': 600 }));
        y += 19;
        for (const row of panel.rows) {
            parts.push(text(left - 8, y + 12, row.name, { 'text-anchor': 'end', fill: pale, 'font-size': 11 }));
            for (const e of row.events) {
                const a = x(e.at), w = Math.max(0.4, x(e.at + e.for) - a);
                parts.push(el('rect', { x: a, y: y + 1, width: w, height: height - 3, fill: kinds[e.kind] }, title(`worker ${row.name}: ${e.why}, ${with_unit(e.for, 's')}`)));
                if (e.who && w > 7 * e.who.length + 4) parts.push(text(a + w / 2, y + 12, e.who, { 'text-anchor': 'middle', fill: waited_for, 'font-size': 11 }));
            }
            for (const at of row.begins) parts.push(el('path', { d: `M${x(at)} ${y}v${height - 1}`, stroke: '#ffffff', 'stroke-width': 1.5 }));
            y += height;
        }
        y += 8;
    }
    for (const t of x.ticks) parts.push(el('path', { d: `M${x(t)} ${y - 4}v4`, stroke: pale }), text(x(t), y + 13, short(t), { 'text-anchor': 'middle', fill: pale }));
    parts.push(el('path', { d: `M${left} ${y - 4}H${width - 12}`, stroke: pale }), text(width - 12, y + 28, 'virtual time (s)', { 'text-anchor': 'end', fill: pale }));
    return frame(width, y + 34, 'what workers do over virtual time', parts);
}

/** Shares of ages: panels {label, look, shares: [[age, share]]}; what is older than is drawn is in the last bar. */
function ages({ width, panels, x_label }) {
    const oldest = Math.min(24, Math.max(3, ...panels.flatMap(p => p.shares.map(s => s[0])))), left = margin(panels.map(p => p.label), width), each = 46;
    const x = axis(0, oldest + 1, left, width - 8), parts = [];
    panels.forEach((panel, k) => {
        const base = 8 + (k + 1) * each - 8, sums = new Map();
        for (const [age, share] of panel.shares) sums.set(Math.min(oldest, Math.floor(age)), (sums.get(Math.min(oldest, Math.floor(age))) ?? 0) + share);
        const top = Math.max(...sums.values());
        parts.push(text(left - 8, base - 6, fit(panel.label, left - 8), { 'text-anchor': 'end' }), el('path', { d: `M${left} ${base}H${width - 8}`, stroke: rule }));
        for (const [age, share] of sums) {
            const middle = x(age + 0.5), w = Math.min(26, x(1) - x(0) - 3), size = (each - 20) * share / top;
            parts.push(el('rect', { x: middle - w / 2, y: base - size, width: w, height: size, ...fill_of(panel.look), 'stroke-width': 0 },
                title(`${panel.label}, age ${age}${age === oldest ? ' and more' : ''}: ${short(100 * share)} %`)));
            if (x(1) - x(0) > 34) parts.push(text(middle, base - size - 3, `${short(100 * share)} %`.replace(/(\.\d)\d+/, '$1'), { 'text-anchor': 'middle', 'font-size': 10, fill: pale }));
        }
    });
    const y = 8 + panels.length * each;
    for (let t = 0; t <= oldest; t += Math.ceil(oldest / 8)) parts.push(text(x(t + 0.5), y + 10, String(t), { 'text-anchor': 'middle', fill: pale }));
    return frame(width, y + 30, x_label, ...parts, text(width - 8, y + 26, x_label, { 'text-anchor': 'end', fill: pale }));
}

/** Who is fastest over two values: cells {x, y, name, look, lead}, of the values xs and ys; what is not known yet is empty. */
function phase({ width, xs, ys, cells, x_label, y_label, names }) {
    const left = 74, top = 46 + 18 * Math.floor((names.length - 1) / 3), w = (width - left - 8) / xs.length, h = Math.min(40, Math.max(16, w * 0.7)), parts = [];
    names.forEach(({ name, look }, k) => { const at = k % 3 * width / 3, y = 12 + 18 * Math.floor(k / 3); parts.push(el('rect', { x: at, y: y - 10, width: 12, height: 12, fill: look.colour }), text(at + 17, y, fit(name, width / 3 - 20))); });
    parts.push(text(0, top - 10, y_label, { fill: pale }));
    ys.forEach((value, row) => parts.push(text(left - 8, top + (ys.length - row - 0.5) * h + 4, value, { 'text-anchor': 'end', fill: pale, 'font-size': 11 })));
    const each = Math.ceil(58 / w);
    xs.forEach((value, k) => k % each === 0 && parts.push(text(left + (k + 0.5) * w, top + ys.length * h + 16, value, { 'text-anchor': 'middle', fill: pale, 'font-size': 11 })));
    xs.forEach((_, i) => ys.forEach((_, k) => parts.push(el('rect', { x: left + i * w + 1, y: top + (ys.length - k - 1) * h + 1, width: w - 2, height: h - 2, fill: '#f0f0ee' }))));
    for (const c of cells) {
        const x = left + c.x * w, y = top + (ys.length - c.y - 1) * h, tone = Math.min(1, 0.25 + Math.log2(c.lead));
        parts.push(el('g', {}, title(`${x_label} ${xs[c.x]}, ${y_label} ${ys[c.y]}: ${c.name}, ${short(c.lead)} times as fast as the next`),
            el('rect', { x: x + 1, y: y + 1, width: w - 2, height: h - 2, fill: c.look.colour, 'fill-opacity': tone }),
            ...(w > 34 ? [text(x + w / 2, y + h / 2 + 4, c.lead.toFixed(2), { 'text-anchor': 'middle', 'font-size': 11, fill: tone > 0.55 && c.look.dark ? '#ffffff' : ink })] : [])));
    }
    return frame(width, top + ys.length * h + 40, `who is fastest by ${x_label} and ${y_label}`, ...parts, text(width - 8, top + ys.length * h + 34, x_label, { 'text-anchor': 'end', fill: pale }));
}

/** Ways of models with two numbers: paths {name, look, points: [[a, b]]}, up to their last place; @p all says how far the axes go. */
function plane({ width, paths, all, best }) {
    const height = Math.min(420, width), of = k => [...all, ...paths.flatMap(p => p.points), ...(best ? [best] : [])].map(p => p[k]);
    const around = k => { const low = Math.min(...of(k)), high = Math.max(...of(k)), more = (high - low || 1) * 0.08; return [low - more, high + more]; };
    const top = 12 + 16 * Math.ceil(paths.length / 3), x = axis(...around(0), 44, width - 12), y = axis(...around(1), height - 34, top + 8), parts = [];
    for (const t of x.ticks) parts.push(el('path', { d: `M${x(t)} ${top + 8}V${height - 34}`, stroke: rule }), text(x(t), height - 18, short(t), { 'text-anchor': 'middle', fill: pale }));
    for (const t of y.ticks) parts.push(el('path', { d: `M44 ${y(t)}H${width - 12}`, stroke: rule }), text(38, y(t) + 4, short(t), { 'text-anchor': 'end', fill: pale }));
    paths.forEach(({ name, look, points }, k) => {
        const at = [k % 3 * width / 3, 12 + 16 * Math.floor(k / 3)], last = points.at(-1);
        parts.push(el('circle', { cx: at[0] + 6, cy: at[1] - 4, r: 5, fill: look.colour }), text(at[0] + 16, at[1], fit(name, width / 3 - 20)));
        if (!last) return;
        parts.push(el('polyline', { fill: 'none', stroke: look.colour, 'stroke-width': 1.5, 'stroke-opacity': 0.7, points: points.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(' ') }),
            el('circle', { cx: x(last[0]), cy: y(last[1]), r: 6 - k, fill: look.colour, stroke: '#ffffff' }, title(`${name}: (${last.map(short).join(', ')})`)));
    });
    if (best) parts.push(el('path', { d: `M${x(best[0]) - 5} ${y(best[1])}h10m-5 -5v10`, stroke: ink, 'stroke-width': 1.5 }), text(x(best[0]) - 9, y(best[1]) + 4, 'least loss', { 'text-anchor': 'end', fill: pale }));
    return frame(width, height, 'where each model is', ...parts, text(width - 12, height - 3, 'a', { 'text-anchor': 'end', fill: pale }), text(0, top + 16, 'b', { fill: pale }));
}

return { bars, lines, gantt, end_of, ages, phase, plane, short, with_unit };
})();
