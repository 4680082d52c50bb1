// A server for a test. It prints its address first.

import { once } from 'node:events'
import { start } from './children.mjs'

export async function serve(program, ...more) {
  const server = start(program, ['serve', '--port', '0', ...more], { stdio: ['ignore', 'pipe', 'inherit'] })
  const base = await firstLine(server.stdout)
  /** Ctrl-C; what it ended with. */
  const stop = async () => {
    server.kill('SIGINT')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    return server.exitCode ?? server.signalCode
  }
  return { base, stop }
}

async function firstLine(stream) {
  let text = ''
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    text += part
    if (text.includes('\n')) return text.trim()
  }
  throw new Error('the server ended before it printed its address')
}
