/**
 * A way for the bytes of a file to the server. All ways are asked the same, and say the same, so that who sends
 * (upload.ts, connection.svelte.ts) knows none of them.
 */

import type { ServerError } from './api'

export type Way = 'put' | 'socket'

/** A stretch of a file, and where it is to go. */
export interface Job {
  file: Sliceable
  from: number
  to: number
  /** Of an HTTP request and of a WebSocket: the path, which says the offset too. */
  url: Record<Way, string>
}

export interface Sliceable {
  readonly size: number
  slice(start: number, end?: number): Blob
}

export type Outcome =
  | { kind: 'done'; answer: unknown }
  /** The server said no, with a status of HTTP. */
  | { kind: 'refused'; status: number; error: ServerError; retryAfterMs: number }
  /** Without a word. */
  | { kind: 'lost' }
  /** The file ended too soon, or could not be read. */
  | { kind: 'unreadable' }

export interface Listener {
  /** So many bytes of the job have left us: at most, as the browser holds some itself. */
  sent(bytes: number): void
  /** The server has taken the bytes before that offset, and says so on this way. */
  taken(offset: number): void
  /** The last word. */
  ended(outcome: Outcome): void
}

/** Begins, and returns what stops it; nothing is said after that. */
export type Transport = (job: Job, listener: Listener) => () => void
