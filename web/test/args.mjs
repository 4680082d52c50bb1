// The command lines of the tests and measurements: what an option means is the same in all of them.

import path from 'node:path'
import { parseArgs } from 'node:util'

const target = process.env['CARGO_TARGET_DIR'] ?? path.join(import.meta.dirname, '../../target')

const known = {
  /** A rorqual to start. A debug build reads the page from web/dist. */
  program: { type: 'string', default: path.join(target, 'debug/rorqual') },
  /** The address of a server that runs already, token and all. */
  base: { type: 'string' },
  /** Steps that have these words in their names. */
  only: { type: 'string', default: '' },
  /** A folder for pictures. */
  shots: { type: 'string' },
  chromium: { type: 'string', default: '/usr/bin/chromium' },
  firefox: { type: 'string', default: '/usr/bin/firefox-esr' },
  nginx: { type: 'string', default: '/usr/sbin/nginx' },
  /** A log to send, and what the server may take for it. */
  file: { type: 'string' },
  memory: { type: 'string', default: '512MiB' },
}

/** The values of those options that a script takes; any other ends it. */
export function options(...names) {
  return parseArgs({ options: Object.fromEntries(names.map((name) => [name, known[name]])) }).values
}
