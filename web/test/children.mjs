// Programs that a test starts, each with all that came from it: they end when the test does, however that ends.

import { spawn } from 'node:child_process'
import os from 'node:os'

const running = new Set()

/** A process group of its own: what is started may be a script around the program. */
export function start(file, args, options) {
  const child = spawn(file, args, { ...options, detached: true })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

process.on('exit', () => {
  for (const { pid } of running) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It ended by itself, or never began.
    }
  }
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => process.exit(128 + os.constants.signals[signal]))
