// A headless Chromium by raw CDP. On purpose: higher-level drivers trace the network and copy what is uploaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { START_MS_MAX, startBrowser, until } from './process.mjs';
import { connect } from './rpc.mjs';

// Without these it looks for updates and talks to its maker while it is measured.
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

export function startChromium(program) {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', ...QUIET];
  const args = (profile) => [...flags, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'];
  const talk = async (_child, profile) => page(await connect(await pageUrl(profile), 'chromium'));
  return startBrowser('chromium', program, args, 'ignore', talk);
}

// Chromium writes the port it chose to a file of its profile.
async function pageUrl(profile) {
  const deadline = Date.now() + START_MS_MAX;
  while (Date.now() < deadline) {
    try {
      const [port] = readFileSync(join(profile, 'DevToolsActivePort'), 'utf8').split('\n');
      const targets = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
      const target = targets.find(({ type }) => type === 'page');
      if (target) return target.webSocketDebuggerUrl;
    } catch {
      // Not there yet.
    }
    await sleep(100);
  }
  throw new Error(`chromium did not start in ${START_MS_MAX / 1000} s`);
}

function page(call) {
  const evaluate = async (expression) => {
    const answer = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails) {
      throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    }
    return answer.result.value;
  };
  return {
    evaluate,
    close: () => call('Browser.close'),
    async open(url, ready) {
      const { errorText } = await call('Page.navigate', { url });
      if (errorText) throw new Error(`${url}: ${errorText}`);
      await until(() => evaluate(ready).catch(() => false), `${url} to be ready`);
    },
    async chooseFile(selector, path) {
      const { result } = await call('Runtime.evaluate', { expression: `document.querySelector(${JSON.stringify(selector)})` });
      await call('DOM.setFileInputFiles', { files: [path], objectId: result.objectId });
    },
  };
}
