// Completion while YAML is written: a listbox of the keys and choices that the schema has for the place of the caret. Arrows choose, Enter
// takes, Escape closes; Ctrl and space ask for it. Enter stays a new line where no choice has been made.
const complete = (() => {
const most = 8; // options that are shown at once, so that nothing has to be scrolled
let n_lists = 0;

/** Puts completion behind @p area; @p about is told what the chosen option means, '' when there is none. */
return function (area, about = () => {}) {
    const id = `may-stand-${++n_lists}`, list = make('ul', { id, className: 'may-stand', role: 'listbox', hidden: true, ariaLabel: 'what may stand here' });
    let found = null, chosen = -1;
    for (const [name, value] of [['aria-autocomplete', 'list'], ['aria-haspopup', 'listbox'], ['aria-controls', id]]) area.setAttribute(name, value);
    area.after(list);

    function show() {
        const { options, from } = found, first = Math.max(0, Math.min(chosen - most + 2, options.length - most));
        list.replaceChildren(...options.slice(first, first + most).map((option, k) => {
            const element = make('li', { id: `${id}-${first + k}`, role: 'option', ariaSelected: String(first + k === chosen), ariaSetSize: String(options.length), ariaPosInSet: String(first + k + 1) },
                make('b', {}, option.name), ' ', option.about);
            element.addEventListener('mousedown', event => { event.preventDefault(); take(option); }); // the caret stays where it is
            return element;
        }));
        list.hidden = false;
        if (chosen < 0) area.removeAttribute('aria-activedescendant'); else area.setAttribute('aria-activedescendant', `${id}-${chosen}`);
        about(options[chosen] ? `${options[chosen].name}: ${options[chosen].about}` : '');
        const before = area.value.slice(0, from).split('\n'), line = parseFloat(getComputedStyle(area).lineHeight), ch = list.firstChild.firstChild.getBoundingClientRect().width / options[first].name.length;
        const left = area.offsetLeft + 6 + before.at(-1).length * ch - area.scrollLeft;
        list.style.left = `${Math.max(0, Math.min(left, list.parentNode.clientWidth - list.offsetWidth))}px`;
        list.style.top = `${area.offsetTop + 8 + before.length * line - area.scrollTop}px`;
    }
    function hide() {
        found = null;
        list.hidden = true;
        area.removeAttribute('aria-activedescendant');
        about('');
    }
    /** @p asked: also where nothing is written yet. */
    function look(asked) {
        const at = area.selectionStart, end = area.selectionEnd;
        found = at === end ? controls.suggest(area.value, at) : null;
        const written = found && area.value.slice(found.from, at);
        if (!found || !found.options.length || found.options.some(o => o.name === written) || !written && !asked && !/: $/.test(area.value.slice(0, at))) { hide(); return; }
        chosen = written || asked ? 0 : -1;
        show();
    }
    function take({ text }) {
        const { from } = found;
        area.focus();
        area.setSelectionRange(from, area.selectionStart);
        document.execCommand('insertText', false, text); // which a reader can undo
    }

    area.addEventListener('input', event => { if (event.inputType?.startsWith('delete') && list.hidden) hide(); else look(false); });
    area.addEventListener('keydown', event => {
        const { key } = event;
        if (key === ' ' && event.ctrlKey) look(true);
        else if (list.hidden) return;
        else if (key === 'ArrowDown' || key === 'ArrowUp') {
            const n = found.options.length;
            chosen = key === 'ArrowDown' ? (chosen + 1) % n : (Math.max(chosen, 0) + n - 1) % n;
            show();
        } else if (key === 'Enter' && chosen >= 0) take(found.options[chosen]);
        else if (key === 'Escape') hide();
        else { if (/^(Arrow|Home|End|Page|Enter|Tab)/.test(key)) hide(); return; }
        event.preventDefault();
    });
    for (const gone of ['blur', 'click', 'scroll']) area.addEventListener(gone, hide);
};
})();
