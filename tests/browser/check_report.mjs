// Opens a page of `dsgd report` in Chromium at the widths of a phone and a desktop, and fails on a
// message of the console, a finding of axe, a request, a page wider than its window, a box that
// scrolls and cannot be reached by keyboard, other text than without scripts, or a control that the
// keyboard does not move, or that leaves figures as they were. Not part of the test command: it needs Chromium and
//
//     npm install playwright-core axe-core
//     NODE_PATH=node_modules node tests/browser/check_report.mjs report.html [folder of screenshots]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.resolve(process.env.NODE_PATH ?? 'node_modules', 'x.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [page_file, screenshots] = process.argv.slice(2);
const address = 'file://' + path.resolve(page_file);
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
           '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let failures = 0;
const fail = (...what) => { failures++; console.log('FAILED', ...what); };
const whole_text = page => page.evaluate(() => {
    document.querySelectorAll('.controls, g > title').forEach(e => e.remove()); // what a mark is of
    return document.body.textContent.replace(/\s/g, '');
});

/** Tab, until the element that has the focus fits. */
async function tab_to(page, fits) {
    for (let i = 0; i < 400; i++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(fits)})`))
            return page.evaluateHandle(() => document.activeElement);
    }
    return null;
}

// Texts of figures that are hidden: those of panels and groups of bars of other places.
const hidden_texts = page => page.locator('svg text.gone').count();
const shown_rows = page => page.locator('tbody tr:not([hidden])').count();

async function walk(page, name) {
    if (await page.locator('.controls').count() > 0) {
        await tab_to(page, '.controls summary');
        await page.keyboard.press('Enter');
        const before = await shown_rows(page);
        for (const [what, key] of [['input[type=checkbox]', 'Space'], ['input[type=range]', 'ArrowRight'], ['select', 'ArrowDown']]) {
            if (await page.locator(what).count() === 0) continue;
            await tab_to(page, what);
            await page.keyboard.press(key);
            if (await shown_rows(page) >= before) fail(name, what, 'hides nothing');
            if (key.startsWith('Arrow') && await hidden_texts(page) === 0) fail(name, what, 'hides no part of a figure');
            if (screenshots && key.startsWith('Arrow')) await page.screenshot({ path: `${screenshots}/${name}-chosen.png`, fullPage: true });
        }
        await page.getByText('Show all', { exact: true }).press('Enter');
        if (await shown_rows(page) !== before) fail(name, 'not all is shown again');
        if (await hidden_texts(page) !== 0) fail(name, 'not all parts of figures are shown again');
    }
    const button = await tab_to(page, 'th button');
    for (const order of ['ascending', 'descending', null]) {
        await page.keyboard.press('Enter');
        const now = await button.evaluate(b => b.parentElement.getAttribute('aria-sort'));
        if (now !== order) fail(name, `aria-sort is ${now}, not ${order}`);
    }
}

const still = await browser.newPage({ javaScriptEnabled: false });
await still.goto(address);
const plain = await whole_text(still);
for (const [name, width, height] of [['phone', 390, 844], ['desktop', 1280, 900]]) {
    const context = await browser.newContext({ viewport: { width, height } });
    const page = await context.newPage();
    page.on('console', message => fail(name, 'console:', message.text()));
    page.on('pageerror', error => fail(name, 'error:', error.message));
    page.on('request', request => {
        if (!request.url().startsWith('file:')) fail(name, 'request:', request.url());
    });
    await page.goto(address);
    if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
    const boxes = await page.evaluate(() => document.querySelectorAll('.scroll').length);
    let reached = 0;
    for (let i = 0; i < 3000; i++) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => [document.activeElement.className, document.activeElement.tagName]);
        if (at[0] === 'scroll') reached++;
        if (at[1] === 'BODY') break;
    }
    if (reached < boxes) fail(name, `${reached} of ${boxes} boxes are reached by Tab`);
    await walk(page, name);
    const overflow = await page.evaluate(() =>
        document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (overflow > 0) fail(name, `page is ${overflow} px wider than the window`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/${name}-open.png` });
    await page.evaluate(axe);
    const { violations, passes } = await page.evaluate(() => window.axe.run());
    for (const v of violations)
        fail(name, v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)));
    console.log(`${name}: ${violations.length} findings, ${passes.length} rules pass, `
                + `${reached} of ${boxes} boxes reached by keyboard`);
    if (await whole_text(page) !== plain) fail(name, 'text differs without scripts');
    await context.close();
}
await browser.close();
process.exit(failures > 0 ? 1 : 0);
