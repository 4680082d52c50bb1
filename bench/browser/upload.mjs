// Uploads a file from a real browser into the real page and, for the floor, into a sink that throws it away.
//
//   node upload.mjs --file FILE --sink PROGRAM [--rorqual PROGRAM] [--rounds 3] [--chromium PROGRAM]
//
// Prints one JSON object: {"rounds": [{"way": "sink" | "rorqual", "seconds", "browser_cpu_seconds", "server": …}]}.
// A server is new in every round, so that its peak memory is of one upload; the browser stays the same.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startChromium } from './chromium.mjs';
import * as pages from './pages.mjs';
import { startServer, treeCpuSeconds } from './server.mjs';

const UPLOAD_MS_MAX = 180_000;

const { values: options } = parseArgs({
  options: {
    file: { type: 'string' },
    sink: { type: 'string' },
    rorqual: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
  },
});

const WAYS = {
  sink: { page: pages.sink, program: options.sink, args: [] },
  rorqual: { page: pages.rorqual, program: options.rorqual, args: ['serve', '--port', '0'] },
};

// A round that fails is told as such, and does not end the others.
async function round(browser, name, way) {
  let server;
  try {
    server = await startServer(way.program, way.args);
    return { way: name, ...(await upload(browser, server, way.page)), server: server.usage() };
  } catch (error) {
    return { way: name, failure: error.message.split('\n')[0], server: null };
  } finally {
    await browser.page.open('about:blank', 'true').catch(() => {});
    await server?.stop();
  }
}

async function upload({ page, pid }, server, script) {
  await page.open(server.url, script.ready);
  await page.evaluate(script.watch);
  const cpuBefore = treeCpuSeconds(pid);
  await page.chooseFile('#file', options.file);
  const measured = await within(UPLOAD_MS_MAX, page.evaluate('window.bench'));
  return { ...measured, browser_cpu_seconds: treeCpuSeconds(pid) - cpuBefore };
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
  const browser = await startChromium(options.chromium);
  const rounds = [];
  try {
    for (let number = 0; number < Number(options.rounds); number += 1) {
      for (const name of names) rounds.push(await round(browser, name, WAYS[name]));
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
