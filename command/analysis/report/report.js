// What a report does in a browser that runs scripts: its tables sort, and a reader chooses algorithms and places. All of it is read
// from the page and written as text; without this file the page is whole. It does without two characters that XML keeps for itself.
'use strict';
(() => {
const all = (selector, of = document) => [...of.querySelectorAll(selector)];
const make = (name, properties, ...inside) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...inside);
    return element;
};
const text_of = element => element.textContent.trim();

// --- order: numbers by their mean, whatever the unit; then other texts, and what is not known last

const unknown = ['', 'unknown', 'never'];
const factors = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, min: 60, h: 3600, d: 86400 };
const number_of = text => {
    const [, digits, prefix] = text.match(/^(?:median )?([-+]?[\d.]+(?:e[-+]?\d+)?)([numkKMGTP](?=[sBbF])|(?:min|h|d)$)?/) ?? [];
    return digits === undefined ? NaN : Number(digits) * (factors[prefix] ?? 1);
};

// A ratio of the baseline to itself is 1; where the most is the same as the mean it is that.
const key_of = cell => {
    const text = text_of(cell);
    return text === 'baseline' ? '1' : text === 'the same' ? text_of(cell.previousElementSibling) : text;
};

const compare = (a, b, sign) => {
    const [x, y] = [number_of(a), number_of(b)];
    const rank = (text, number) => unknown.includes(text) ? 2 : Number.isNaN(number) ? 1 : 0;
    const [i, j] = [rank(a, x), rank(b, y)];
    return i !== j ? i - j : i === 2 ? 0 : sign * (i === 1 ? a.localeCompare(b, 'en', { numeric: true }) : x - y);
};

const rows_of = table => all('tbody tr', table);

// Each press of a heading sorts the other way; the third one restores the order of the experiment.
const make_sortable = table => {
    const rows = rows_of(table), heads = all('thead th', table);
    heads.forEach((head, column) => {
        const button = make('button', { type: 'button' }, ...head.childNodes);
        button.addEventListener('click', () => {
            const next = { null: 'ascending', ascending: 'descending' }[head.getAttribute('aria-sort')];
            heads.forEach(other => other.removeAttribute('aria-sort'));
            const ordered = [...rows];
            if (next !== undefined) {
                head.setAttribute('aria-sort', next);
                const sign = next === 'ascending' ? 1 : -1;
                ordered.sort((a, b) => compare(key_of(a.cells[column]), key_of(b.cells[column]), sign));
            }
            table.tBodies[0].append(...ordered);
        });
        head.append(button);
    });
};

// --- what the page has: rows of results, in figures the marks of a series, such as "wagma; group 4", and their parts of some places

const heads_of = table => all('thead th', table).map(text_of);
const tables = all('main table').map(element => ({ element, heads: heads_of(element), rows: rows_of(element) }));
const of_results = tables.filter(table => table.heads[0] === 'algorithm');
const of_targets = tables.filter(table => table.heads[0] === 'runs');
const of_winners = tables.filter(table => table.heads[0] === 'place');
const marks = all('g[data-series] > title').map(title =>
    ({ title, element: title.parentElement, series: title.parentElement.dataset.series, name: text_of(title) }));
const cells = all('svg[data-cells]').flatMap(svg => svg.dataset.cells.split('\n').filter(line => line !== '').map(line => {
    const [, left, top, width, height, places] = line.match(/^(\S+) (\S+) (\S+) (\S+) (.*)$/);
    return { svg, left: +left, top: +top, width: +width, height: +height, places: places.split(' || '), elements: [] };
}));
const drawings = all('svg[data-cells]').map(svg => ({ svg, box: svg.getAttribute('viewBox').split(' ').map(Number), elements: null }));
const words = all('figure').map(figure => ({
    texts: all('svg text', figure),
    marks: marks.filter(mark => figure.contains(mark.element)),
}));

const unique = texts => [...new Set(texts)];
const is_of = (series, algorithm) => series === algorithm || series.startsWith(algorithm + '; ');
const algorithms = unique(of_results.flatMap(table => table.rows.map(row => text_of(row.cells[0]))));
const first = of_results[0] ?? { heads: [], rows: [] };
const keys = first.heads.slice(1, first.heads.indexOf('seeds')).map((name, k) => {
    const values = unique(first.rows.map(row => text_of(row.cells[k + 1]))).filter(value => value !== '');
    return { name, column: k + 1, values: values.sort((a, b) => compare(a, b, 1)), chosen: null };
}).filter(key => key.values.length > 1);

// Whether a place in words, such as "4 workers, seconds 10ms", is one of the chosen ones; what it does not name may have any value.
const is_chosen_place = (place, between = /[,;] /) => keys.every(({ name, values, chosen }) => {
    const about = place.split(between).filter(part =>
        part.startsWith(name + ' ') || part.endsWith(' ' + name) || values.includes(part));
    return chosen === null || about.length === 0 ||
        about.some(part => [chosen, `${name} ${chosen}`, `${chosen} ${name}`].includes(part));
});
const is_chosen_row = row => keys.every(({ column, chosen }) =>
    chosen === null || [chosen, ''].includes(text_of(row.cells[column])));

// --- showing

const status = make('p', { role: 'status' });

// What is drawn belongs to the part of its figure that its middle is in, unless it is wider, as axes below groups of bars are.
const is_within = (at, length) => !(0 > at || at > length);
const find_elements = svg => {
    const page = svg.getBoundingClientRect(), own = cells.filter(cell => cell.svg === svg);
    return all('text, path, polygon, use', svg).filter(element => element.closest('defs') === null).map(element => {
        const box = element.getBoundingClientRect(), down = element.parentElement.getScreenCTM().inverse();
        const x = (box.x + 0.5 * box.width - page.x) / page.width, y = (box.y + 0.5 * box.height - page.y) / page.height;
        const cell = own.find(({ left, top, width, height }) => [[x - left, width], [y - top, height], [box.width / page.width, width + 1e-3]]
            .every(([at, length]) => is_within(at, length)));
        return { element, cell, is_title: cell === undefined ? box.height > box.width : false, y, down: [down.c * page.height, down.d * page.height] };
    });
};

// Parts of other places are hidden, and what is below rows that have no other moves up.
const show_cells = chooses => {
    cells.forEach(cell => { cell.shown = cell.places.some(place => is_chosen_place(place, ' | ')); });
    let n_empty = 0;
    for (const drawing of drawings) {
        const own = cells.filter(cell => cell.svg === drawing.svg);
        if (drawing.elements === null ? !chooses || own.length === 0 : false) continue;
        drawing.elements = drawing.elements ?? find_elements(drawing.svg);
        const rows = unique(own.map(cell => cell.top)).map(top => own.filter(cell => cell.top === top));
        const gone = rows.filter(row => !row.some(cell => cell.shown)).map(row => row[0]);
        const height_above = y => gone.reduce((sum, cell) => sum + (y > cell.top + 0.5 * cell.height ? cell.height : 0), 0);
        for (const { element, cell, is_title, y, down } of drawing.elements) {
            const up = is_title ? -0.5 * height_above(1) : -height_above(y);
            element.classList.toggle('gone', cell?.shown === false);
            element.style.translate = up === 0 ? '' : `${up * down[0]}px ${up * down[1]}px`;
        }
        const [left, top, width, height] = drawing.box;
        drawing.svg.setAttribute('viewBox', [left, top, width, height * (1 - height_above(1))].join(' '));
        n_empty += own.some(cell => cell.shown) ? 0 : 1;
    }
    return n_empty;
};

// What a mark is of, for readers who point at it: the series and its results at the places that are shown.
const most_lines = 8;
const describe = mark => {
    const rows = first.rows.filter(row => !(row.hidden || !is_of(mark.series, text_of(row.cells[0]))));
    const lines = rows.slice(0, most_lines).map(row => {
        const cells = [...row.cells].map((cell, k) => [first.heads[k], text_of(cell)]);
        const place = keys.map(({ column }) => cells[column].join(' ')).join(', ');
        const results = cells.slice(first.heads.indexOf('seeds') + 1).map(cell => cell.join(': ')).join('; ');
        return place === '' ? results : `${place}: ${results}`;
    });
    const more = rows.length > most_lines ? [`and ${rows.length - most_lines} places more`] : [];
    return [mark.name, ...lines, ...more].join('\n');
};

const show = hidden => {
    const is_hidden = series => hidden.some(algorithm => is_of(series, algorithm));
    for (const { rows } of of_results)
        for (const row of rows) row.hidden = hidden.includes(text_of(row.cells[0])) || !is_chosen_row(row);
    for (const { rows } of of_targets)
        for (const row of rows) {
            const runs = text_of(row.cells[0]);
            row.hidden = is_hidden(runs) || !is_chosen_place(runs);
        }
    const chooses = keys.some(key => key.chosen !== null);
    for (const { rows, heads } of of_winners)
        for (const row of rows)
            [...row.cells].slice(1).forEach((cell, k) => cell.classList.toggle('here',
                chooses ? is_chosen_place(`${text_of(row.cells[0])}, ${heads[k + 1]}`) : false));
    for (const item of all('.verdicts li')) item.hidden = !is_chosen_place(text_of(item).split(': ')[0]);
    const told = new Map();
    for (const mark of marks) {
        mark.element.classList.toggle('gone', is_hidden(mark.series));
        if (!told.has(mark.series)) told.set(mark.series, describe(mark));
        mark.title.textContent = told.get(mark.series);
    }
    for (const figure of words) {
        const names = figure.marks.filter(mark => is_hidden(mark.series)).map(mark => mark.name);
        const is_name = text => names.some(name => name === text || (text.endsWith('...') ? name.startsWith(text.slice(0, -3)) : false));
        for (const text of figure.texts) text.classList.toggle('dim', is_name(text_of(text).replace(/^\d+: /, '')));
    }
    const n_others = show_cells(chooses);
    const shown = first.rows.filter(row => !row.hidden).length;
    status.textContent = `${shown} of ${first.rows.length} results are shown.` +
        (n_others === 0 ? '' : ` Figures of other places alone, which are left empty: ${n_others}.`);
};

// --- controls

const boxes = algorithms.map(algorithm => make('input', { type: 'checkbox', checked: true, value: algorithm }));
const update = () => show(boxes.filter(box => !box.checked).map(box => box.value));

// Of numbers a slider whose left end is all of them, of texts a list.
const control_of = (key, k) => {
    const id = `place-${k}`, output = make('output', {}, 'all');
    const is_number = key.values.every(value => !Number.isNaN(number_of(value)));
    output.htmlFor.add(id);
    const input = is_number
        ? make('input', { id, type: 'range', min: 0, max: key.values.length, value: 0 })
        : make('select', { id }, ...['all', ...key.values].map((name, i) => make('option', { value: i }, name)));
    const choose = () => {
        key.chosen = key.values[Number(input.value) - 1] ?? null;
        output.textContent = key.chosen ?? 'all';
        if (is_number) input.ariaValueText = output.textContent;
    };
    input.addEventListener('input', () => { choose(); update(); });
    choose();
    const clear = () => { input.value = 0; choose(); };
    return { clear, element: make('p', {}, make('label', { htmlFor: id }, key.name), ' ', input, ...(is_number ? [' ', output] : [])) };
};

const group = (legend, ...inside) => make('fieldset', {}, make('legend', {}, legend), ...inside);
const button = (text, act) => {
    const element = make('button', { type: 'button' }, text);
    element.addEventListener('click', () => { act(); update(); });
    return element;
};
const check = checked => boxes.forEach(box => { box.checked = checked; });

const add_controls = () => {
    const places = keys.map(control_of);
    const parts = [];
    boxes.forEach(box => box.addEventListener('change', update));
    if (boxes.length > 1)
        parts.push(group('Algorithms', ...boxes.map(box => make('label', {}, box, ' ', box.value)),
                         make('p', {}, button('Hide all algorithms', () => check(false)))));
    if (places.length > 0) parts.push(group('Places', ...places.map(place => place.element)));
    if (parts.length === 0) return;
    parts.push(make('p', {}, button('Show all', () => { check(true); places.forEach(place => place.clear()); })), status);
    document.querySelector('main').prepend(make('details', { className: 'controls' },
        make('summary', {}, 'Choose what is shown'), make('p', {}, 'Headings of tables sort; a third press restores the order.'),
        ...parts));
};

tables.forEach(table => make_sortable(table.element));
add_controls();
update();
})();
