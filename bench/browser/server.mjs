// A server under test, and what Linux knows about its memory and its disk.
import { spawn } from 'node:child_process';
import { constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';

const LOOK_MS = 100;

// Starts a server whose first line on stdout is its URL.
export async function startServer(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  const url = await Promise.race([firstLine(child.stdout), exited.then(() => null)]);
  if (!url) throw new Error(`${program} did not print its URL`);
  const files = watchFiles(child.pid);
  const writtenAtStart = io(child.pid).write_bytes;
  return {
    url,
    usage: () => ({
      peak_bytes: status(child.pid, 'VmHWM'),
      cpu_seconds: cpuSeconds(child.pid),
      write_bytes: io(child.pid).write_bytes - writtenAtStart,
      files_written: [...files.seen],
    }),
    async stop() {
      files.stop();
      child.kill();
      await exited;
    },
  };
}

// The reader stays: what the server says later must be let go, or a full pipe would stop it.
function firstLine(stream) {
  const lines = createInterface({ input: stream });
  return new Promise((resolve) => lines.once('line', (line) => resolve(line.trim())).once('close', () => resolve(null)));
}

// The files that a process had open for writing at any look: an upload kept on a disk, or on a tmpfs, of which Linux
// counts no writing, would be one, deleted or not. Devices, sockets and the like have other names. Its standard streams
// are ours, not its own.
function watchFiles(pid) {
  const seen = new Set();
  const timer = setInterval(() => filesForWriting(pid).forEach((path) => seen.add(path)), LOOK_MS);
  return { seen, stop: () => clearInterval(timer) };
}

function filesForWriting(pid) {
  try {
    const folder = `/proc/${pid}/fd`;
    const own = readdirSync(folder).filter((fd) => Number(fd) > 2);
    const written = own.filter((fd) => openForWriting(pid, fd)).map((fd) => readlinkSync(`${folder}/${fd}`));
    return written.filter((target) => /^\/(?!dev\/(?!shm\/))/.test(target));
  } catch {
    // A descriptor was closed between the two calls; the next look comes soon.
    return [];
  }
}

function openForWriting(pid, fd) {
  const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))[1];
  return (parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
}

function status(pid, name) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
}

function io(pid) {
  const lines = readFileSync(`/proc/${pid}/io`, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(': ')).map(([name, value]) => [name, Number(value)]));
}

// Of this process only. 100 ticks a second is what Linux tells user space on every architecture we run on.
function cpuSeconds(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

// CPU seconds of a process and all that came from it, such as a browser's.
export function treeCpuSeconds(root) {
  const children = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(name);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree.reduce((sum, pid) => sum + alive(() => cpuSeconds(pid), 0), 0);
}

function parentOf(pid) {
  return alive(() => {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  }, null);
}

// Processes end while they are looked at.
function alive(look, otherwise) {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
