// Sends a file from a real browser: into the real page, into its test of the connection, and into sinks that throw it away.
//
//   node upload.mjs --browser chromium|firefox --program PROGRAM --file FILE --sink PROGRAM [--warp PROGRAM] [--rorqual PROGRAM] [--rounds 3]
//
// Prints one JSON object: {"rounds": [{"way", "seconds", "bytes", "browser_cpu_seconds", "server": …}]}.
// A server is new in every round, so that its peak memory is of one upload; the browser stays the same.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startChromium } from './chromium.mjs';
import { startFirefox } from './firefox.mjs';
import * as pages from './pages.mjs';
import { startServer, treeCpuSeconds } from './server.mjs';

const UPLOAD_MS_MAX = 180_000;

const { values: options } = parseArgs({
  options: {
    browser: { type: 'string', default: 'chromium' },
    program: { type: 'string' },
    file: { type: 'string' },
    sink: { type: 'string' },
    warp: { type: 'string' },
    rorqual: { type: 'string' },
    rounds: { type: 'string', default: '3' },
  },
});

const BROWSERS = { chromium: startChromium, firefox: startFirefox };

const serve = { program: options.rorqual, args: ['serve', '--port', '0'] };
const WAYS = {
  sink: { page: pages.sink, program: options.sink, args: [], hash: '' },
  warp: { page: pages.stopAndWait, program: options.warp, args: [], hash: '' },
  connection: { page: pages.connection, ...serve, hash: '#connection' },
  'upload-put': { page: pages.upload, ...serve, hash: '#way=put' },
  'upload-socket': { page: pages.upload, ...serve, hash: '#way=socket' },
};

// What was measured in one round. One that fails is told as such, and does not end the others.
async function round(browser, name, way) {
  let server;
  try {
    server = await startServer(way.program, way.args);
    await browser.page.open(server.url + way.hash, way.page.ready);
    await browser.page.evaluate(way.page.watch);
    const measured = await (way.page.start ? test : upload)(browser, way.page);
    return measured.map((one) => ({ way: name, ...one, server: server.usage() }));
  } catch (error) {
    return [{ way: name, failure: error.message.split('\n')[0], server: null }];
  } finally {
    await browser.page.open('about:blank', 'true').catch(() => {});
    await server?.stop();
  }
}

async function upload({ page, pid }, { file }) {
  const cpuBefore = treeCpuSeconds(pid);
  await page.chooseFile(file, options.file);
  const measured = await within(UPLOAD_MS_MAX, page.evaluate('window.bench'));
  return [{ ...measured, browser_cpu_seconds: treeCpuSeconds(pid) - cpuBefore }];
}

// The page tries one way after the other, so what the browser takes until the first result is the first one's.
async function test({ page, pid }, { file, start }) {
  await page.chooseFile(file, options.file);
  const cpu = [treeCpuSeconds(pid)];
  await page.evaluate(`document.querySelector('${start}').click()`);
  const [first] = await within(UPLOAD_MS_MAX, page.evaluate('window.first'));
  cpu.push(treeCpuSeconds(pid));
  const both = await within(UPLOAD_MS_MAX, page.evaluate('window.bench'));
  cpu.push(treeCpuSeconds(pid));
  return both.map((one) => {
    const index = one.way === first.way ? 0 : 1;
    return { ...one, way: `connection-${one.way}`, browser_cpu_seconds: cpu[index + 1] - cpu[index] };
  });
}

async function within(ms, promise) {
  const late = sleep(ms, null, { ref: false }).then(() => {
    throw new Error(`no end in ${ms / 1000} s`);
  });
  return Promise.race([promise, late]);
}

async function main() {
  if (!options.file || !options.sink) throw new Error('--file and --sink are needed; see the head of upload.mjs');
  const names = Object.keys(WAYS).filter((name) => WAYS[name].program);
  const browser = await BROWSERS[options.browser](options.program ?? options.browser);
  const rounds = [];
  try {
    for (let number = 0; number < Number(options.rounds); number += 1) {
      for (const name of names) rounds.push(...(await round(browser, name, WAYS[name])));
    }
  } finally {
    await browser.stop();
  }
  console.log(JSON.stringify({ rounds }));
}

main().catch((error) => {
  console.error(`upload: ${error.message}`);
  process.exitCode = 1;
});
