// A headless Chromium by raw CDP. On purpose: higher-level drivers trace the network and copy what is uploaded.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';

const START_MS_MAX = 20_000;
const CLOSE_MS_MAX = 5_000;
const MESSAGE_BYTES_MAX = 64 << 20;

// Without these it looks for updates and talks to its maker while it is measured.
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

export async function startChromium(program) {
  const profile = mkdtempSync(join(tmpdir(), 'rorqual-chromium-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', ...QUIET];
  const child = spawn(program, [...flags, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'], {
    stdio: 'ignore',
    env: { ...process.env, HOME: profile },
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async (page) => {
    await page?.call('Browser.close').catch(() => {});
    await Promise.race([exited, sleep(CLOSE_MS_MAX)]);
    child.kill('SIGKILL');
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    const page = await connect(await pageUrl(profile));
    return { pid: child.pid, page, stop: () => stop(page) };
  } catch (error) {
    await stop();
    throw error;
  }
}

// Chromium writes the port it chose to a file of its profile.
async function pageUrl(profile) {
  const deadline = Date.now() + START_MS_MAX;
  while (Date.now() < deadline) {
    try {
      const [port] = readFileSync(join(profile, 'DevToolsActivePort'), 'utf8').split('\n');
      const targets = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
      const page = targets.find((target) => target.type === 'page');
      if (page) return page.webSocketDebuggerUrl;
    } catch {
      // Not there yet.
    }
    await sleep(100);
  }
  throw new Error(`chromium did not start in ${START_MS_MAX / 1000} s`);
}

async function connect(url) {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: MESSAGE_BYTES_MAX });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const waiting = new Map();
  socket.on('message', (data) => {
    const { id, error, result } = JSON.parse(data);
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) reject?.(new Error(error.message));
    else resolve?.(result);
  });
  // A browser that dies must not leave the benchmark waiting.
  socket.on('close', () => waiting.forEach(({ reject }) => reject(new Error('chromium closed the connection'))));
  let last = 0;
  return page((method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    socket.send(JSON.stringify({ id: last, method, params }));
  }));
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
    call,
    evaluate,
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

async function until(condition, what) {
  const deadline = Date.now() + START_MS_MAX;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${START_MS_MAX / 1000} s for ${what}`);
    await sleep(50);
  }
}
