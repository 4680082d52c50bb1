// An nginx before a server, with everything it writes in a folder that goes with it.

import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { patienceMs } from './browser.mjs'
import { start } from './children.mjs'

async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

/** `lines` are those of its location, beside where to. Who asks it is, for the server, its own page. */
export async function proxy(program, base, lines) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-nginx-'))
  const port = await freePort()
  const { host, search } = new URL(base)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  for (const name of temp) mkdirSync(path.join(folder, name))
  const file = path.join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off;
    ${process.getuid() === 0 ? 'user root;' : ''}
    pid ${folder}/nginx.pid;
    error_log stderr error;
    events { worker_connections 64; }
    http {
      access_log off;
      ${temp.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://${host};
          proxy_set_header Host ${host};
          proxy_set_header Origin http://${host};
          proxy_set_header Sec-Fetch-Site same-origin;
          client_max_body_size 0;
          ${lines}
        }
      }
    }`,
  )
  const child = start(program, ['-c', file, '-p', folder, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await listens(port, child)
  const stop = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    rmSync(folder, { recursive: true })
  }
  return { base: `http://127.0.0.1:${port}/${search}`, stop }
}

async function listens(port, child) {
  const begun = Date.now()
  for (;;) {
    const socket = net.connect(port, '127.0.0.1')
    const up = await new Promise((go) =>
      socket.once('connect', () => go(true)).once('error', () => go(false)),
    )
    socket.destroy()
    if (up) return
    if (child.exitCode !== null || Date.now() - begun > patienceMs) throw new Error('nginx did not start')
    await new Promise((go) => setTimeout(go, 20))
  }
}
