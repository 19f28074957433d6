// The YAML that experiments are written in, with the place of everything in the text, so that a control changes a value and leaves
// comments and order as they are. What it cannot read (anchors, tags, block scalars) is left to the program: controls rest then.
const yaml = (() => {
const fail = what => { throw new Error(what); };

function parse(text) {
    let i = 0;
    const column = at => at - text.lastIndexOf('\n', at - 1) - 1;
    const match = pattern => { pattern.lastIndex = i; return pattern.exec(text); };
    const skip = () => { i += match(/(?:[ \n]+|#[^\n]*)*/y)[0].length; };
    const scalar = (start, end, value) => ({ type: 'scalar', start, end, value });
    const quoted = /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/y;
    const key_of = raw => /^["']/.test(raw) ? raw.slice(1, -1) : raw;

    function plain(pattern) {
        const start = i, q = match(quoted);
        if (q) { i += q[0].length; return scalar(start, i, key_of(q[0])); }
        if ('|>&*!%@`'.includes(text[i] ?? '')) fail(`\`${text[i]}\` is left to the program`);
        const value = (match(pattern)?.[0] ?? '').trimEnd();
        i += value.length;
        return scalar(start, i, value);
    }

    function flow() {
        const node = { type: text[i] === '{' ? 'map' : 'seq', flow: true, start: i, items: [] }, close = { map: '}', seq: ']' }[node.type];
        for (i++, skip(); text[i] !== close; skip()) {
            if (i >= text.length) fail(`\`${close}\` is missing`);
            const start = i;
            let key = node.items.length;
            if (node.type === 'map') {
                key = plain(/[^:,{}[\]\n]+/y).value;
                skip();
                if (text[i] !== ':') fail('a key without a value');
                i++;
                skip();
            }
            const value = '{['.includes(text[i]) ? flow() : plain(/(?:[^,[\]{}\n#]|\S#)+/y);
            node.items.push({ key, start, end: value.end, value });
            skip();
            if (text[i] === ',') i++;
            else if (text[i] !== close) fail(`\`,\` or \`${close}\` is missing`);
        }
        node.end = ++i;
        return node;
    }

    const key_pattern = /("[^"\n]*"|'[^'\n]*'|[^\s#:,[\]{}&*!|>'"%@`][^:#\n]*?) *:(?=[ \n]|$)/y;
    const at_dash = () => text[i] === '-' && (' \n'.includes(text[i + 1] ?? '\n'));

    function block(least) {
        const from = i;
        skip();
        const indent = column(i);
        if (i >= text.length || indent < least) { i = from; return scalar(from, from, ''); }
        if ('{['.includes(text[i])) return flow();
        const node = { flow: false, start: i, indent, items: [] };
        if (!at_dash() && !match(key_pattern)) return plain(/(?:[^\n#]|\S#)+/y);
        node.type = at_dash() ? 'seq' : 'map';
        while (i < text.length && column(i) === indent) {
            const start = i, dash = at_dash(), head = dash ? null : match(key_pattern);
            if (dash !== (node.type === 'seq') || !dash && !head) break;
            i += dash ? 1 : head[0].length;
            const after = i;
            skip();
            const same = !dash && column(i) === indent && at_dash();
            i = same ? i : after;
            const value = block(same ? indent : indent + 1);
            if (value.value === '' && value.start === value.end) value.start = value.end = after;
            node.items.push({ key: dash ? node.items.length : key_of(head[1]), start, end: value.end, value });
            skip();
        }
        node.end = node.items.at(-1).end;
        return node;
    }

    const root = block(0);
    skip();
    if (i < text.length) fail('a line whose indent does not fit');
    return root;
}

const item = (node, key) => node?.items?.find(at => at.key === key);
const get = (node, path) => path.reduce((at, key) => item(at, key)?.value, node);
const splice = (text, start, end, by) => text.slice(0, start) + by + text.slice(end);
const line_end = (text, at) => { const end = text.indexOf('\n', at); return end < 0 ? text.length : end; };
const nest = (path, literal) => path.reduceRight((inside, key) => `{${key}: ${inside}}`, literal);

/** The text with @p literal at @p path; a name in the way becomes a map, with the name under the key @p called. */
function set(text, path, literal, called = 'name') {
    let node = parse(text);
    for (let k = 0; k < path.length; k++) {
        if (node.type === 'scalar')
            return splice(text, node.start, node.end, (node.end === node.start ? ' ' : '') + (node.value === ''
                ? nest(path.slice(k), literal) : `{${called}: ${node.value}, ${nest(path.slice(k), literal).slice(1)}`));
        const next = item(node, path[k]);
        if (!next) return insert(text, node, `${path[k]}: ${nest(path.slice(k + 1), literal)}`);
        node = next.value;
    }
    return splice(text, node.start, node.end, (node.start === node.end ? ' ' : '') + literal);
}

function insert(text, node, what) {
    if (node.flow) {
        const end = node.items.at(-1)?.end ?? node.start + 1;
        return splice(text, end, end, (node.items.length ? ', ' : '') + what);
    }
    const end = line_end(text, node.end);
    return splice(text, end, end, '\n' + ' '.repeat(node.indent) + what);
}

/** The text with one more element of the list at @p path. */
function append(text, path, literal) {
    const node = get(parse(text), path);
    if (!node || node.value === '') return set(text, path, `[${literal}]`);
    if (node.type === 'seq') return insert(text, node, node.flow ? literal : `- ${literal}`);
    return set(text, path, `[${text.slice(node.start, node.end)}, ${literal}]`);
}

/** The text without what is at @p path. */
function remove(text, path) {
    const root = parse(text), parent = get(root, path.slice(0, -1)), k = parent.items.findIndex(at => at.key === path.at(-1));
    const { start, end } = parent.items[k];
    if (parent.flow) {
        const before = parent.items[k - 1], after = parent.items[k + 1];
        return after ? splice(text, start, after.start, '') : splice(text, before?.end ?? start, end, '');
    }
    if (parent.items.length === 1 && path.length > 1) return set(text, path.slice(0, -1), parent.type === 'seq' ? '[]' : '{}');
    const from = parent.type === 'map' && text.slice(text.lastIndexOf('\n', start - 1) + 1, start).trim() !== ''
        ? start : text.lastIndexOf('\n', start - 1) + 1;
    const next = parent.items[k + 1];
    return splice(text, from, from === start && next ? next.start : line_end(text, end) + 1, '');
}

/** The path of keys at a place in the text, and the innermost node there. */
function at(root, place) {
    const path = [];
    for (let node = root; ;) {
        const inside = node.items?.find(one => one.start <= place && place <= Math.max(one.end, one.value.end));
        if (!inside) return { path, node };
        path.push(inside.key);
        node = inside.value;
    }
}

return { parse, get, set, append, remove, at };
})();
