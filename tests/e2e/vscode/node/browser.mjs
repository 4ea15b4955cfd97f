// Runs a headless browser for the tests: each line on stdin calls a method of the page, each line on stdout is its
// result. {"id": 1, "page": 0, "call": "keyboard.press", "args": ["Tab"]} -> {"id": 1, "value": null} or
// {"id": 1, "error": "..."}. A page is opened by the first call that names its number.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [cache, width, height] = process.argv.slice(2);
const { chromium } = createRequire(`${cache}/package.json`)('playwright-core');
const browser = await chromium.launch({
    executablePath: `${cache}/browser/chromium`,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync'],
});
const context = await browser.newContext({ viewport: { width: Number(width), height: Number(height) } });
const pages = {};

for await (const line of createInterface({ input: process.stdin })) {
    const { id, page, call, args } = JSON.parse(line);
    let answer;
    try {
        pages[page] ??= await context.newPage();
        const names = call.split('.');
        const method = names.pop();
        const target = names.reduce((value, name) => value[name], pages[page]);
        const value = await target[method](...args);
        // Handles and responses of the page are no JSON, and nobody asks for them.
        answer = { id, value: typeof value === 'object' && !Array.isArray(value) && value?.constructor !== Object ? null : value };
    } catch (fault) {
        answer = { id, error: String(fault.message ?? fault) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
