// Goes through the lab's page in Chromium, or with FIREFOX=/usr/bin/firefox-esr in Firefox, as a reader would, at the widths of a phone and
// a desktop: settings and text that follow each other, a mistake and its sentence, what is offered while one writes, a stop, an address
// that holds all, downloads, two set-ups, a phase diagram, results that are dragged there, and lessons 1, 3, 6 and 9 to the end. Fails on
// what is not there, a message of the console, a request, a finding of axe, or a page wider than its window. Says how long the first
// drawing and a slider take. Not part of the test command: it needs Chromium and
//
//     npm install playwright-core axe-core
//     NODE_PATH=node_modules node tests/browser/check_lab.mjs lab.html [folder of screenshots]
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const require = createRequire(path.resolve(process.env.NODE_PATH ?? 'node_modules', 'x.js'));
const { chromium, firefox } = require('playwright-core'); // Firefox: 1.58 drives version 153, 1.65 does not
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [page_file, screenshots] = process.argv.slice(2), address = 'file://' + path.resolve(page_file);
const of_firefox = process.env.FIREFOX && { channel: 'moz-firefox', executablePath: process.env.FIREFOX };
const browser = of_firefox ? await firefox.launch(of_firefox) : await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let failures = 0, checks = 0;
const check = (holds, ...what) => { checks++; if (!holds) { failures++; console.log('FAILED', ...what); } };

async function open(name, width, height, hash = '') {
    const context = await browser.newContext({ viewport: { width, height }, acceptDownloads: true }), page = await context.newPage();
    page.setDefaultTimeout(60000);
    page.on('console', message => check(false, name, 'console:', message.text()));
    page.on('pageerror', error => check(/an inline style \(style-src-elem\)/.test(error.message) && of_firefox, name, 'error:', error.message)); // of its driver's screenshots
    page.on('request', request => check(/^(file|blob|data):/.test(request.url()), name, 'request:', request.url()));
    await page.goto(address + hash);
    return page;
}
const idle = page => page.waitForFunction(() => document.body.dataset.state === 'idle' && document.body.dataset.controls === 'there');
/** The milliseconds until a change has been drawn, and until its timelines are there, too. */
async function changed(page, act) {
    await page.evaluate(() => { document.body.dataset.state = 'waits'; });
    await act();
    await idle(page);
    return page.evaluate(() => document.body.dataset.ms.split(' ').map(Number));
}
const text_of = page => page.inputValue('#yaml');
const type = (page, from, to) => text_of(page).then(text => changed(page, () => page.fill('#yaml', text.replace(from, to))));
const picture = async (page, name) => { if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true, caret: 'initial' }); };
async function look(page, name) {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, name, `page is ${wide} px wider than its window`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const v of violations) check(false, name, v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)));
    await picture(page, name);
}

async function bench(name, width, height) {
    const begin = Date.now(), page = await open(name, width, height);
    await idle(page);
    console.log(`${name}: first drawing ${(await page.evaluate(() => document.body.dataset.ms))} ms after the program was asked, all ${Date.now() - begin} ms`);
    check(await page.locator('#now figure').count() === 5, name, 'not five figures');
    check(await page.locator('#now tbody tr').count() === 4, name, 'not four rows');
    check(/fast/.test(await page.textContent('#now .verdicts')), name, 'no verdict');
    check(!/`dsgd run/.test(await page.textContent('#now')), name, 'a command is named that the page does not have');
    check(/^allreduce/.test(await page.textContent('#now tbody tr')), name, 'no row of allreduce');
    await look(page, name);

    const slider = page.locator('#controls input[type=range]').first();
    await changed(page, () => slider.press('ArrowRight'));
    check(/workers: 32/.test(await text_of(page)), name, 'an arrow on the slider does not write the text');
    await type(page, 'workers: 32', 'workers: 8 # few');
    check(await page.inputValue('#controls input.exact >> nth=0') === '8', name, 'the text does not move the slider');
    await changed(page, () => slider.press('ArrowRight'));
    check(/workers: 16 # few/.test(await text_of(page)), name, 'a comment is lost');

    await page.locator('#controls details:has([aria-label="host_bandwidth, exact"])').evaluate(part => { part.open = true; });
    await changed(page, () => page.locator('#controls [aria-label="host_bandwidth, exact"]').locator('xpath=preceding-sibling::input').press('ArrowRight'));
    check(/host_bandwidth: 1[23]GB\/s/.test(await text_of(page)), name, 'a slider of bandwidth writes no unit:', await text_of(page));

    await type(page, 'group: 4', 'grup: 4');
    check(/line 6.*`grup` is unknown \(did you mean `group`\?\)/.test(await page.textContent('#wrong')), name, 'no sentence on a mistake');
    check(await page.textContent('#gutter .wrong') === '6', name, 'its line is not marked');
    await type(page, 'grup: 4', 'group: 4');
    check(await page.textContent('#wrong') === '', name, 'the sentence stays');
    const before = await text_of(page);
    await page.waitForTimeout(700);
    const again = await open(name, width, height, new URL(page.url()).hash);
    await idle(again);
    check(await text_of(again) === before, name, 'the address does not hold the settings');
    await again.context().close();
    const cut = await open(name, width, height, new URL(page.url()).hash.slice(0, -9));
    await idle(cut);
    check(/^This link is not whole/.test(await cut.textContent('#wrong')), name, 'no sentence on a link that was cut off');
    check(await cut.locator('#now tbody tr').count() === 4 && await cut.locator('#controls input').count() > 0, name, 'a link that was cut off leaves a page without its first experiment');
    await cut.context().close();
    return page;
}

/** Name and content of the first file that a button gives; Firefox's driver has no event for it. */
async function saved(page, button) {
    if (!of_firefox) {
        const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
        return [download.suggestedFilename(), readFileSync(await download.path(), 'latin1')];
    }
    await page.evaluate(() => { // no file is saved: the browser would show its list of downloads, which takes the keyboard away
        const { createObjectURL } = URL, { click } = HTMLAnchorElement.prototype;
        let blob;
        window.saved = [];
        URL.createObjectURL = one => createObjectURL.call(URL, blob = one);
        HTMLAnchorElement.prototype.click = function () { window.saved.push([this.download, blob]); };
        window.saves_again = () => { Object.assign(URL, { createObjectURL }); HTMLAnchorElement.prototype.click = click; };
    });
    await page.click(button);
    await page.waitForFunction(() => window.saved.length > 0);
    return page.evaluate(async () => {
        window.saves_again();
        const [name, blob] = window.saved[0], reader = new FileReader();
        return new Promise(done => { reader.onload = () => done([name, reader.result]); reader.readAsBinaryString(blob); });
    });
}

async function rest_of_bench(page) {
    for (const [button, file, head] of [['#save-yaml', 'experiment.yaml', 'name: lab'], ['figure button >> nth=0', 'throughput.svg', '<svg'], ['figure button >> nth=1', 'throughput.png', '\x89PNG']]) {
        const [name, content] = await saved(page, button);
        check(name === file, name);
        check(content.startsWith(head), file, 'has other content');
    }
    for (const n of [16, 64, 256]) {
        await type(page, /workers: \d+( # few)?\n/, `workers: ${n}\n`);
        const times = [];
        for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowLeft', 'ArrowRight', 'ArrowLeft'])
            times.push(await changed(page, () => page.locator('#controls [aria-label="seconds, exact"]').locator('xpath=preceding-sibling::input').press(key)));
        const median = k => times.map(t => t[k]).sort((a, b) => a - b)[2];
        console.log(`slider with ${n} workers: table, verdict, bars and curves ${median(0)} ms, with timelines ${median(1)} ms (medians of five)`);
    }
    await type(page, /workers: \d+\n/, 'workers: 1024\n').catch(() => {});
    const long = (await text_of(page)).replace('steps: 100', 'steps: 100000');
    await page.fill('#yaml', long);
    await page.waitForSelector('#stop:visible');
    await page.click('#stop');
    await page.waitForFunction(() => document.querySelector('#status').textContent === 'Stopped.');
    await changed(page, () => page.click('#anew'));
    check(await page.locator('#now tbody tr').count() === 4, 'nothing is simulated after a stop');

    await page.waitForTimeout(1000); // what was typed before the stop is taken after a moment
    await idle(page);
    await page.click('#keep');
    await changed(page, () => page.locator('#controls input[type=range]').first().press('ArrowLeft'));
    check(await page.textContent('#head-a') === 'workers: 16' && await page.textContent('#head-b') === 'workers: 8', 'two set-ups do not say what differs');
    check(await page.locator('#kept figure').count() === 5, 'the set-up that is kept has no figures');
    await look(page, 'two');
    await page.click('#keep');
    await page.click('#phase-part summary');
    await page.selectOption('#phase-n', '5');
    await page.click('#phase-go');
    await page.waitForFunction(() => document.querySelectorAll('#phase g').length > 2);
    await page.waitForFunction(() => document.querySelector('#phase-stop').hidden);
    check(await page.locator('#phase g').count() === 25, 'the phase diagram has', await page.locator('#phase g').count(), 'cells');
    await look(page, 'phase');
}

/** An algorithm step by step, from the first moment to the last. */
async function steps_of(page, name) {
    await page.evaluate(to => { location.hash = to; }, `explain/${name}`);
    await page.waitForFunction(own => document.querySelector('#explain-head').textContent.startsWith(`${own}: `), name);
    const dots = () => page.locator('#explain-figure polyline').evaluateAll(all => all.reduce((n, line) => n + line.getAttribute('points').split(' ').length, 0)), before = await dots();
    for (let k = 0; k < 5; k++) await page.click('#explain-on');
    check(Number(await page.inputValue('#explain-at')) === 5 && await page.locator('#explain-now li').count() > 0, name, 'is not at the moment that was asked');
    await page.press('#explain-at', 'End');
    await page.waitForFunction(n => document.querySelectorAll('#explain-figure polyline').length >= n, 4);
    check(await dots() > before + 4, name, 'models do not move');
    check(/^worker 0/m.test(await page.textContent('#explain-end')), name, 'has no table at its end');
    await look(page, `explain-${name}`);
}

async function own(page) {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'lab-'));
    writeFileSync(`${folder}/runs.csv`, (await saved(page, '#save-csv'))[1], 'latin1');
    await page.evaluate(() => { location.hash = 'own'; });
    await page.setInputFiles('#own-files', `${folder}/runs.csv`);
    await page.waitForSelector('#own tbody tr');
    check(await page.locator('#own tbody tr').count() === 4, 'results of one\'s own have not four rows');
    const state = { ph: 'M', pid: 1, tid: 1, name: 'thread_name', args: { name: 'state' } };
    writeFileSync(`${folder}/trace.json`, JSON.stringify({ traceEvents: [state, { ph: 'X', pid: 1, tid: 1, ts: 0, dur: 5e5, name: 'forward' }] }));
    await page.setInputFiles('#own-files', `${folder}/trace.json`);
    await page.waitForSelector('#own figure >> text=What workers do');
    await look(page, 'own');
    const give = async (name, content, sentence) => {
        writeFileSync(`${folder}/${name}`, content);
        await page.setInputFiles('#own-files', `${folder}/${name}`);
        await page.waitForFunction(text => document.querySelector('#own-said').textContent.includes(text), sentence).catch(() => check(false, name, 'no sentence with', sentence));
    };
    page.setDefaultTimeout(5000);
    await give('broken.json', '{"traceEvents": [', 'broken.json: ');
    await give('broken.json.gz', 'no gzip', 'broken.json.gz: ');
    await give('other.json', JSON.stringify({ traceEvents: [{ ph: 'M', pid: 1, tid: 1, name: 'thread_name' }] }), 'no states of workers');
    await give('t10k-labels-idx1-ubyte', 'x', 'are there for `data: fashion-mnist`');
    await give('notes.txt', 'x', 'No `runs.csv`');
    const many = Array.from({ length: 150000 }, (_, k) => ({ ph: 'X', pid: 1, tid: 1, ts: k, dur: 1, name: 'forward' }));
    page.setDefaultTimeout(60000);
    await give('large.json', JSON.stringify({ traceEvents: [state, ...many] }), '');
    await page.waitForFunction(() => document.querySelectorAll('#own rect').length > 150000);
    await give('notes.txt', 'x', 'No `runs.csv`');
    await dropped(page, folder);
}

/** Files and folders that are dragged from the desktop onto the page and dropped; Firefox's driver drags none: there, entries stand for them. */
async function drop(page, paths) {
    if (!of_firefox) {
        const session = await page.context().newCDPSession(page), data = { items: [], files: paths, dragOperationsMask: 1 };
        for (const type of ['dragEnter', 'dragOver', 'drop']) {
            await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
            if (type === 'dragOver') check(await page.evaluate(() => document.body.classList.contains('dropping')), 'nothing shows that files may be dropped');
        }
        return;
    }
    const tree = at => statSync(at).isDirectory() ? { name: path.basename(at), inside: readdirSync(at).map(name => tree(path.join(at, name))) } : { name: path.basename(at), text: readFileSync(at, 'utf8') };
    await page.evaluate(all => {
        const entry = ({ name, inside, text }) => inside
            ? { name, isFile: false, createReader: () => { const parts = [inside.map(entry), []]; return { readEntries: done => done(parts.shift()) }; } }
            : { name, isFile: true, file: done => done(new File([text], name)) };
        const event = new Event('drop', { bubbles: true, cancelable: true });
        event.dataTransfer = { types: ['Files'], items: all.map(one => ({ webkitGetAsEntry: () => entry(one) })) };
        document.body.dispatchEvent(event);
    }, paths.map(tree));
}
async function dropped(page, folder) {
    const [from, two] = [`${folder}/results`, `${folder}/two`];
    for (const at of [from, `${two}/a`, `${two}/b`]) { mkdirSync(at, { recursive: true }); copyFileSync(`${folder}/runs.csv`, `${at}/runs.csv`); }
    const rows = () => page.locator('#own tbody tr').count(), said = text => page.waitForFunction(own => document.querySelector('#own-said').textContent.includes(own), text).catch(() => check(false, 'no sentence with', text));
    await page.evaluate(() => { location.hash = 'lab'; });
    await page.waitForSelector('#page-own', { state: 'hidden' });
    await drop(page, [from]);
    await page.waitForSelector('#own tbody tr');
    check(await rows() === 4, 'a folder that is dropped has not four rows but', await rows());
    await drop(page, [`${folder}/trace.json`]);
    await page.waitForSelector('#own figure >> text=What workers do');
    check(await rows() === 0, 'a trace that is dropped leaves the table before it');
    await drop(page, [two]);
    await said('2 folders have results; this is two/a');
    check(await rows() === 4, 'of two folders none is shown');
    await drop(page, [`${folder}/notes.txt`]);
    await said('No `runs.csv`');
    if (of_firefox) return; // whose driver chooses no folder
    await page.setInputFiles('#own-folder', from);
    await page.waitForSelector('#own tbody tr');
    check(await rows() === 4, 'a folder that is chosen has not four rows but', await rows());
}

/** Keys and choices that are offered while one writes, and what takes them. */
async function completion(page) {
    const before = await text_of(page), list = page.locator('#yaml ~ [role=listbox]'), names = () => list.locator('b').allTextContents();
    const write = async (text, keys, more = '') => { await page.fill('#yaml', text + more); await page.focus('#yaml'); await page.evaluate(at => document.querySelector('#yaml').setSelectionRange(at, at), text.length); await page.keyboard.type(keys); };
    const has = async (what, ...own) => { const all = await names(); check(own.every(name => all.includes(name)), what, 'are not offered:', own.join(' '), 'but', all.join(' ')); };
    const head = 'workers: 4\nalgorithms:\n  - allreduce\n';
    await write(head, 'imb');
    await has('keys', 'imbalance');
    await page.keyboard.press('Enter');
    check(await text_of(page) === `${head}imbalance: `, 'Enter takes no key:', await text_of(page));
    await write(head, '  - wag');
    await has('algorithms', 'wagma');
    check(await page.getAttribute('#yaml', 'aria-activedescendant') === await list.locator('[aria-selected=true]').getAttribute('id'), 'the option that Enter takes is not said');
    check(/wagma/.test(await page.textContent('#here')), 'what an option means is not said');
    await look(page, 'completion');
    await page.keyboard.press('Enter');
    check((await text_of(page)).endsWith('- wagma'), 'Enter takes no algorithm');
    await page.keyboard.press('Enter');
    check((await text_of(page)).endsWith('- wagma\n'), 'Enter makes no new line afterwards');
    await write(`${head}  - {name: wagma, `, 'g', '}\nuntil: {steps: 10}\n');
    await has('options of an algorithm', 'group');
    check(!(await names()).includes('slack'), 'options of another algorithm are offered');
    await page.keyboard.press('Escape');
    check(await list.isHidden() && (await text_of(page)).includes('wagma, g}'), 'Escape does not close the list, or changes the text');
    await write(`${head}platform: `, 'piz');
    await has('platforms', 'piz-daint');
    await write(`${head}network: `, '');
    await page.keyboard.press('Control+Space');
    await has('choices', 'flows', 'simgrid');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    check((await text_of(page)).endsWith('network: simgrid'), 'arrows do not choose:', await text_of(page));
    await write(`${head}until: {`, 'st');
    await list.locator('li').first().click();
    check((await text_of(page)).endsWith('until: {steps: '), 'a click takes nothing');
    await page.keyboard.press('Control+z');
    check((await text_of(page)).endsWith('until: {st'), 'what was taken cannot be undone');
    await write(`${head}# pl`, 'a');
    check(await list.isHidden(), 'keys are offered in a comment');
    await changed(page, () => page.fill('#yaml', before));
}

/** A lesson as a student goes through it: each command, each answer, and the task before and after the answer is written. */
async function lesson(page, name, answers) {
    await page.evaluate(to => { location.hash = to; }, `course/${name}`);
    await page.waitForFunction(to => document.querySelector(`#lessons a[href="#course/${to}"]`)?.getAttribute('aria-current') === 'page', name);
    await page.waitForSelector('#lesson .prompt button');
    let same = 0, all = 0;
    const words = text => text.split(/\s+/).filter(w => /^\d/.test(w));
    for (const command of await page.locator('#lesson .command').all()) {
        const told = words(await command.locator('pre').textContent());
        await command.locator('.prompt button').click();
        await command.locator('.prompt button:not([disabled])').waitFor();
        const said = await command.locator('pre').textContent();
        check(!/^(dsgd: |The program has ended)/m.test(said), name, await command.locator('input').inputValue(), said);
        same += told.filter(word => words(said).includes(word)).length;
        all += told.length;
    }
    const commands = await page.locator('#lesson .command').count(), share = same / all;
    console.log(`${name}: ${commands} commands, ${(100 * share).toFixed(1)} % of the page's numbers, wall times with them, printed again`);
    check(share > 0.8, name, 'other numbers than its page has');
    for (const summary of await page.locator('#lesson summary').all()) await summary.press('Enter');
    await page.waitForFunction(() => document.querySelectorAll('#lesson details[open]').length >= 3, null, { timeout: 5000 }).catch(() => check(false, name, 'answers do not unfold'));
    const task = async passed => {
        await page.click('.desk .main');
        await page.waitForSelector(`.said[data-passed=${passed}]`).catch(() => check(false, name, 'task', passed));
    };
    await task(false);
    await look(page, name);
    let text = await page.inputValue('#file-text');
    for (const [from, to] of answers) text = text.replace(from, to);
    await page.fill('#file-text', text);
    await page.evaluate(() => { delete document.querySelector('.said').dataset.passed; });
    await task(true);
}

await (await bench('phone', 390, 844)).context().close();
await (await bench('wide', 1920, 1080)).context().close();
const page = await bench('desktop', 1280, 900);
await completion(page);
await rest_of_bench(page);
await own(page);
for (const name of ['local_sgd', 'ssp', 'wagma']) await steps_of(page, name);
await lesson(page, '1-barrier', [['900ms', '1.1s']]);
await lesson(page, '3-stale-gradients', [['{name: eager_solo}', '{name: eager_solo, period: 10}']]);
await lesson(page, '6-asynchrony', [['label: mine, optimizer: {lr: 0.16}', 'label: mine, optimizer: {lr: 0.01}']]);
await lesson(page, '9-your-own-trace', [['{name: local_sgd, label: mine, period: 8}', '{name: ad_psgd, label: mine}']]);
console.log(`${checks - failures} of ${checks} checks pass`);
await browser.close();
process.exit(failures > 0 ? 1 : 0);
