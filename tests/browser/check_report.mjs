// Opens a page of `dsgd report` in Chromium at the widths of a phone and a desktop, and fails on a
// message of the console, a finding of axe, a request, a page wider than its window, or a box that
// scrolls and cannot be reached by keyboard. Not part of the test command: it needs Chromium and
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
    const overflow = await page.evaluate(() =>
        document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (overflow > 0) fail(name, `page is ${overflow} px wider than the window`);
    await page.evaluate(axe);
    const { violations, passes } = await page.evaluate(() => window.axe.run());
    for (const v of violations)
        fail(name, v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)));
    console.log(`${name}: ${violations.length} findings, ${passes.length} rules pass, `
                + `${reached} of ${boxes} boxes reached by keyboard`);
    await context.close();
}
await browser.close();
process.exit(failures > 0 ? 1 : 0);
