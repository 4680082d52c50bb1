/** What uploads have from this browser: the transports, which of them is best, and the clock. */

import { SvelteSet } from 'svelte/reactivity'
import { api } from './api'
import { changeOf } from './filewatch'
import { prefs } from './prefs.svelte'
import { put } from './put'
import type { FileLike } from './recognise'
import { socket, startWorker } from './socket'
import type { Transport, Way } from './transport'
import type { Env } from './upload'
import { engineOf, readingOf, waysOf } from './ways'

export const engine = engineOf(globalThis.navigator?.userAgent ?? '')
export const transport: Record<Way, Transport> = {
  put: put(() => new XMLHttpRequest()),
  socket: socket(startWorker, globalThis.location?.origin ?? '', readingOf(engine)),
}

/** Ways that brought nothing here where another did, as long as the page is open. */
const broken = new SvelteSet<Way>()
/** The ways to try now, best first. */
export const waysNow = () => waysOf(prefs.way, engine, broken)

/** Entries in folders, of files that were dropped where the browser gives them: only these tell anew what a file is. */
export const entries = new WeakMap<FileLike, () => Promise<File>>()

export const env: Env = {
  ways: waysNow,
  transport,
  learnt: (way, works) => void (works ? broken.delete(way) : broken.add(way)),
  session: async (id) => (await api.session(id)).session,
  cancel: (id) => api.cancel(id),
  look: (file, picked) => changeOf(file, picked, entries.get(file) ?? null),
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
