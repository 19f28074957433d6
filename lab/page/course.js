// The course: a lesson's page out of its Markdown, with its commands live, its files open to changes, and its task checked.
const course = (() => {
const engine = new Engine();
let lessons = null, opened = null, n = 0;

// --- Markdown, as far as lessons use it

const raw = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** Code, bold, emphasis, links and pictures within a line; a template parses no script, and lessons are the page's own. */
const inline = (text, lesson) => text.split(/(`[^`]+`)/).map(part => part[0] === '`' ? `<code>${raw(part.slice(1, -1))}</code>` : raw(part)
    .replace(/!\[([^\]]*)\]\(([^)]+)\)/g, (_, alt, name) => lesson.files[name] ? `<img alt="${alt}" src="data:image/png;base64,${lesson.files[name]}">` : alt)
    .replace(/\[([^\]]*)\]\(([^)]+)\)/g, (_, name, to) => /\.yaml$/.test(to) && !to.includes('/') ? `<a href="#course/${lesson.name}/${to}">${name}</a>`
        : /^\.\.\/(\d+-[\w-]+)/.test(to) ? `<a href="#course/${to.split('/')[1]}">${name}</a>` : name)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>').replace(/\*([^*\s][^*]*)\*/g, '<em>$1</em>')).join('');
const html = (text, lesson) => { const holder = document.createElement('template'); holder.innerHTML = inline(text, lesson); return holder.content; };

function blocks(lines, lesson) {
    const all = [], cells = line => line.trim().slice(1, -1).split('|').map(cell => cell.trim());
    const take = test => { const some = []; while (lines.length && test(lines[0])) some.push(lines.shift()); return some; };
    while (lines.length) {
        const line = lines[0], fence = line.match(/^ *```(\w*)/), point = line.match(/^(\d+\.|-) /);
        if (!line.trim() || /^ *<!--/.test(line)) lines.shift();
        else if (fence) {
            lines.shift();
            const code = take(l => !/^ *```/.test(l));
            lines.shift();
            all.push(fence[1] === 'console' ? session(code, lesson) : make('pre', { tabIndex: 0 }, code.join('\n')));
        } else if (/^#+ /.test(line)) { lines.shift(); const [, marks, name] = line.match(/^(#+) (.*)/); all.push(make(`h${marks.length + 1}`, {}, html(name, lesson))); }
        else if (/^\|/.test(line)) {
            const [head, , ...rows] = take(l => /^\|/.test(l)).map(cells);
            all.push(make('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: `table ${++n}` }, make('table', {}, make('thead', {}, make('tr', {}, ...head.map(c => make('th', { scope: 'col' }, html(c, lesson))))),
                make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map(c => make('td', {}, html(c, lesson)))))))));
        } else if (/^    /.test(line)) all.push(make('pre', { tabIndex: 0 }, take(l => /^    |^$/.test(l)).map(l => l.slice(4)).join('\n').trimEnd()));
        else if (point) {
            const list = make(point[1] === '-' ? 'ul' : 'ol');
            while (lines.length && /^(\d+\.|-) /.test(lines[0])) {
                const wide = lines[0].match(/^(\d+\.|-) /)[0].length, own = [lines.shift().slice(wide), ...take(l => /^ /.test(l) || !l.trim() && true).map(l => l.slice(wide))];
                list.append(make('li', {}, ...blocks(own, lesson)));
            }
            all.push(list);
        } else if (/^<details>/.test(line)) {
            lines.shift();
            const inside = take(l => !/^<\/details>/.test(l));
            lines.shift();
            all.push(make('details', {}, make('summary', {}, line.match(/<summary>(.*)<\/summary>/)[1]), ...blocks(inside, lesson)));
        } else all.push(make('p', {}, html(take(l => l.trim() && !/^( *```|#+ |\||<details>|(\d+\.|-) )/.test(l)).join(' '), lesson)));
    }
    return all;
}

// --- commands, run in the folder of the lesson

const words = line => [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
const folder = lesson => `/data/course/${lesson.name}`; // where the files are that a lesson does not show
const files_of = lesson => Object.fromEntries(Object.entries(lesson.files).filter(([name]) => name.endsWith('.yaml')).map(([name, content]) => [`${folder(lesson)}/${name}`, content]));

/** Runs a command as a shell would; answers with what it printed, its status, and where it left results. */
async function command(line, lesson, said) {
    const [program, ...args] = words(line), option = args.findIndex(word => word === '-o');
    if (program !== 'dsgd') return { out: `${program}: this page has dsgd alone`, rc: 2 };
    const ran = args[0] === 'plot' ? { out: '', err: '', rc: 0 } : await engine.call(args, { cwd: folder(lesson), files: files_of(lesson), line: said });
    const results_folder = args[0] === 'plot' ? args[1] : args[0] === 'run' && ran.rc === 0 ? args[option + 1] && option > 0 ? args[option + 1] : ran.out.match(/^results: (.*?)\/runs\.csv/m)?.[1] : null;
    const err = ran.err.replace(/\r?\x1b\[K(\[[#.]+\][^\x1b\n]*)?/g, '').trim(); // without a terminal's bars of progress
    return { out: [ran.out, err].filter(Boolean).join('\n'), rc: ran.rc, results: results_folder };
}

/** A block of commands above their outputs: editable, and each runs here. */
function session(code, lesson) {
    const parts = code.reduce((all, line) => { if (/^\$ /.test(line)) all.push([line.slice(2), []]); else all.at(-1)?.[1].push(line); return all; }, []);
    return make('div', { className: 'session' }, ...parts.map(([line, shown]) => {
        const input = make('input', { value: line, spellcheck: false, autocapitalize: 'off', ariaLabel: `command ${++n}` }), output = make('pre', { tabIndex: 0 }, shown.join('\n').trimEnd()), drawn = make('div');
        const go = button('Run', async () => {
            go.disabled = true;
            output.classList.add('old');
            try {
                const ran = await command(input.value, lesson);
                output.textContent = ran.out;
                output.classList.remove('old');
                if (ran.results) {
                    const data = await results.run(engine, { folder: ran.results, cwd: folder(lesson) });
                    if (data.failed) output.textContent = [ran.out, data.failed].filter(Boolean).join('\n');
                    else { results.show(drawn, data); drawn.querySelectorAll('.scroll, .verdicts, .notes').forEach(e => e.remove()); }
                }
            } catch (e) { output.textContent = e instanceof Stopped ? 'stopped' : `The program has ended: ${e.message}`; }
            go.disabled = false;
        }, { ariaLabel: `run ${line}` });
        input.addEventListener('keydown', event => event.key === 'Enter' && go.click());
        return make('div', { className: 'command' }, make('div', { className: 'prompt' }, make('span', { ariaHidden: 'true' }, '$'), input, go), output, drawn);
    }));
}

// What is written stays in this browser, until it is taken back.
const key_of = (lesson, name) => `dsgd ${lesson.name}/${name}`;
const stored = (lesson, name) => { try { return localStorage.getItem(key_of(lesson, name)); } catch { return null; } };
const store = (lesson, name, text) => { try { if (text === lesson.given[name]) localStorage.removeItem(key_of(lesson, name)); else localStorage.setItem(key_of(lesson, name), text); } catch { /* a browser may refuse */ } };

/** The lesson's files, of which one is open; the one of the task is checked by `dsgd task`. */
function desk(lesson) {
    const names = Object.keys(lesson.files).filter(name => name.endsWith('.yaml')), choose = make('select', { id: 'file' }, ...names.map(name => make('option', {}, name)));
    const text = make('textarea', { id: 'file-text', spellcheck: false, wrap: 'off', ariaLabel: 'text of the file' }), said = make('pre', { className: 'said', tabIndex: 0 });
    said.setAttribute('role', 'status');
    const open = name => { choose.value = name; text.value = lesson.files[name]; text.rows = Math.min(26, text.value.split('\n').length + 1); };
    choose.addEventListener('change', () => open(choose.value));
    const put = (name, content) => { lesson.files[name] = content; store(lesson, name, content); };
    text.addEventListener('input', () => put(choose.value, text.value));
    const check = button('Check the task', async () => {
        const line = `dsgd task ${choose.value === 'solution.yaml' ? choose.value : 'start.yaml'}`; // a teacher has a solution, too
        said.textContent = `${line} …`;
        try {
            const ran = await command(line, lesson);
            said.textContent = ran.out;
            said.dataset.passed = String(ran.rc === 0);
        } catch (e) { said.textContent = e.message; }
    }, { className: 'main' });
    const area = make('div', { className: 'editor' }, text);
    complete(text);
    open(names.includes('start.yaml') ? 'start.yaml' : names[0]);
    return { element: make('section', { className: 'desk', ariaLabel: 'files and task' }, make('h3', {}, 'Files of this lesson'), make('p', {}, make('label', { htmlFor: 'file' }, 'file '), choose, ' ', button('Open on the bench', () => course.bench(text.value)),
        ' ', button('As it was', () => { put(choose.value, lesson.given[choose.value]); open(choose.value); })), area, make('p', {}, check), said), open };
}

async function open(name) {
    lessons ??= JSON.parse(new TextDecoder().decode(await packed('lessons-data')));
    const names = Object.keys(lessons), list = $('lessons');
    if (!list.children.length) list.append(...names.map(own => make('li', {}, make('a', { href: `#course/${own}` }, lessons[own].title))));
    if (!lessons[name]) name = names[0];
    for (const link of list.querySelectorAll('a')) link.setAttribute('aria-current', link.getAttribute('href') === `#course/${name}` ? 'page' : 'false');
    const lesson = lessons[name];
    if (opened !== lesson) {
        engine.stop();
        Object.assign(lesson, { name, given: lesson.given ?? { ...lesson.files } });
        for (const file of Object.keys(lesson.files)) lesson.files[file] = stored(lesson, file) ?? lesson.files[file];
        lesson.desk = desk(lesson);
        $('lesson').replaceChildren(...blocks(lesson.page.split('\n'), lesson));
        $('desk').replaceChildren(lesson.desk.element);
        scrollTo(0, 0);
        opened = lesson;
    }
    const file = location.hash.split('/')[2];
    if (file && lesson.files[file]) { lesson.desk.open(file); $('desk').scrollIntoView(); }
}
return { open, bench: null };
})();
