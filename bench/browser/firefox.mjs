// A headless Firefox by WebDriver BiDi, as it speaks it without a driver beside it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { START_MS_MAX, startBrowser, until } from './process.mjs';
import { connect } from './rpc.mjs';

// With these it looks for updates and talks to its maker while it is measured.
const LOUD = [
  'app.update.enabled',
  'browser.safebrowsing.malware.enabled',
  'browser.safebrowsing.phishing.enabled',
  'browser.shell.checkDefaultBrowser',
  'datareporting.policy.dataSubmissionEnabled',
  'network.captive-portal-service.enabled',
  'network.connectivity-service.enabled',
  'network.http.http3.enable',
  'toolkit.telemetry.enabled',
];

export function startFirefox(program) {
  const args = (profile) => {
    writeFileSync(join(profile, 'user.js'), LOUD.map((name) => `user_pref("${name}", false);\n`).join(''));
    return ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0', 'about:blank'];
  };
  const talk = async (child) => page(await connect(await address(child.stderr), 'firefox'));
  return startBrowser('firefox', program, args, ['ignore', 'ignore', 'pipe'], talk);
}

// It says on stderr where it listens; what it says later must be let go.
function address(stderr) {
  const lines = createInterface({ input: stderr });
  const said = new Promise((resolve) => {
    lines.on('line', (line) => {
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line);
      if (found) resolve(`${found[1]}/session`);
    });
  });
  const late = sleep(START_MS_MAX, null, { ref: false }).then(() => {
    throw new Error(`firefox did not start in ${START_MS_MAX / 1000} s`);
  });
  return Promise.race([said, late]);
}

async function page(call) {
  await call('session.new', { capabilities: {} });
  const { contexts } = await call('browsingContext.getTree');
  const context = contexts[0].context;
  const evaluate = async (expression) => {
    const wrapped = `(async () => JSON.stringify(await (${expression})))()`;
    const answer = await call('script.evaluate', { expression: wrapped, target: { context }, awaitPromise: true });
    if (answer.type === 'exception') throw new Error(answer.exceptionDetails.text);
    return answer.result.value === undefined ? undefined : JSON.parse(answer.result.value);
  };
  return {
    evaluate,
    close: () => call('browser.close'),
    async open(url, ready) {
      await call('browsingContext.navigate', { context, url, wait: 'complete' });
      await until(() => evaluate(ready).catch(() => false), `${url} to be ready`);
    },
    async chooseFile(selector, path) {
      const locator = { type: 'css', value: selector };
      const { nodes } = await call('browsingContext.locateNodes', { context, locator, maxNodeCount: 1 });
      if (nodes.length === 0) throw new Error(`the page has no ${selector}`);
      await call('input.setFiles', { context, element: { sharedId: nodes[0].sharedId }, files: [path] });
    },
  };
}
