/**
 * Which way a file goes to the server.
 *
 * Measured with "Test this connection" (#connection), 1 GiB from a file on loopback, 2 cores; see src/README.md for the figures and the
 * command:
 * - Chromium: a WebSocket fed from one reused buffer in a worker. A PUT passes through more of its processes, and takes half as long again or more.
 * - Firefox: PUT. Its WebSocket is as fast only where it is given Blobs, and never faster.
 * - Others: PUT, which every proxy knows.
 */

import type { Reading } from './sender'
import type { Way } from './transport'

/** What the reader may say: one way and no other, or what is best. */
export type Wish = Way | 'auto'
export const wishes: Wish[] = ['auto', 'put', 'socket']

export type Engine = 'chromium' | 'firefox' | 'other'

/** By what it calls itself: what is measured is an engine, not a feature that one could ask for. */
export function engineOf(userAgent: string): Engine {
  if (/\bFirefox\//.test(userAgent)) return 'firefox'
  return /Chrom(e|ium)\//.test(userAgent) ? 'chromium' : 'other'
}

/** Chromium reads a stream into our buffer fast; the others read Blobs themselves. */
export const readingOf = (engine: Engine): Reading => (engine === 'chromium' ? 'stream' : 'slices')

/**
 * The ways to try, best first. One that was found broken here stands behind: a proxy that knows no upgrade stays the same.
 * What the reader wishes for is the only one: who measures wants no other in its place.
 */
export function waysOf(wish: Wish, engine: Engine, broken: ReadonlySet<Way>): Way[] {
  if (wish !== 'auto') return [wish]
  const ways: Way[] = engine === 'chromium' ? ['socket', 'put'] : ['put', 'socket']
  return [...ways.filter((way) => !broken.has(way)), ...ways.filter((way) => broken.has(way))]
}
