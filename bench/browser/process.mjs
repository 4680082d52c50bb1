// A browser as a process: started with a profile of its own, which goes with it.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const START_MS_MAX = 20_000;
const CLOSE_MS_MAX = 5_000;

// `talk` gets the process and its profile, and returns the page once it answers.
export async function startBrowser(name, program, args, stdio, talk) {
  const profile = mkdtempSync(join(tmpdir(), `rorqual-${name}-`));
  const child = spawn(program, args(profile), { stdio, env: { ...process.env, HOME: profile } });
  const exited = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  const stop = async (page) => {
    await page?.close().catch(() => {});
    await Promise.race([exited, sleep(CLOSE_MS_MAX)]);
    child.kill('SIGKILL');
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    const page = await talk(child, profile);
    return { pid: child.pid, page, stop: () => stop(page) };
  } catch (error) {
    await stop();
    throw error;
  }
}

// A page that is opened is ready some time later.
export async function until(condition, what) {
  const deadline = Date.now() + START_MS_MAX;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${START_MS_MAX / 1000} s for ${what}`);
    await sleep(50);
  }
}
