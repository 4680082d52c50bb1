/**
 * What the worker does: a file through a WebSocket, no further ahead of the server's acknowledgements than its window,
 * with at most one piece of the file in memory. It knows no worker and no browser; worker/send.ts brings them.
 */

import type { ServerError } from './api'
import type { Outcome, Sliceable } from './transport'

export type Piece = Uint8Array<ArrayBuffer> | Blob

/** Gives a file piece by piece; a piece is good until the next one is asked for. */
export interface Source {
  next(): Promise<Piece | null>
}

/** The part of `WebSocket` we need. */
export interface SocketLike {
  send(data: Piece | string): void
  close(code?: number): void
  readonly bufferedAmount: number
  onmessage: ((event: MessageEvent) => void) | null
  onclose: ((event: CloseEvent) => void) | null
}

/** How to read a file for a socket. */
export type Reading = 'stream' | 'slices'

/** Of the one buffer that a stream is read into. */
export const bufferBytes = 1 << 20
/** Of a Blob that is sent as a message; two are in the window. */
export const sliceBytes = 4 << 20
/** What the browser may hold of a socket before it gets more. */
export const bufferedMax = 4 << 20
/** It says nothing when that falls. */
const bufferedEveryMs = 5

/** One buffer, used over and over: `send` takes a copy, and fresh memory for each piece would cost more than that. */
export function streamed(slice: Blob): Source {
  const reader = slice.stream().getReader({ mode: 'byob' })
  let buffer = new ArrayBuffer(bufferBytes)
  return {
    async next() {
      let filled = 0
      while (filled < bufferBytes) {
        const { value, done } = await reader.read(new Uint8Array(buffer, filled))
        if (value) buffer = value.buffer
        if (done) break
        filled += value.byteLength
      }
      return filled > 0 ? new Uint8Array(buffer, 0, filled) : null
    },
  }
}

/** The browser reads them itself; no byte comes to the page. */
export function sliced(file: Sliceable, from: number, to: number): Source {
  let at = from
  return {
    async next() {
      const end = Math.min(at + sliceBytes, to)
      const piece = at < end ? file.slice(at, end) : null
      at = end
      return piece
    },
  }
}

const bytesOf = (piece: Piece) => (piece instanceof Blob ? piece.size : piece.byteLength)

type Said =
  | { type: 'ready'; offset: number; window_bytes: number }
  | { type: 'taken'; offset: number }
  | { type: 'error'; error: ServerError }
  | { type: 'done' }

export interface SenderListener {
  progress(sent: number, taken: number): void
  ended(outcome: Outcome): void
}

export class Sender {
  private sent: number
  private taken: number
  private windowBytes = 0
  private wake: (() => void) | null = null
  private over = false

  constructor(
    private readonly socket: SocketLike,
    private readonly source: Source,
    private readonly from: number,
    private readonly to: number,
    private readonly listener: SenderListener,
    private readonly sleep: (ms: number) => Promise<void>,
  ) {
    this.sent = this.taken = from
    socket.onmessage = ({ data }) => this.hear(JSON.parse(String(data)) as Said)
    socket.onclose = () => this.end({ kind: 'lost' })
  }

  /** In order: what was sent is still taken, and the session waits for the rest. */
  stop(): void {
    this.over = true
    this.wake?.()
    this.socket.close(1000)
  }

  private hear(said: Said): void {
    if (said.type === 'ready') {
      this.windowBytes = said.window_bytes
      void this.sendAll()
    } else if (said.type === 'taken') {
      this.taken = said.offset
      this.progress()
      this.wake?.()
    } else if (said.type === 'done') {
      this.end({ kind: 'done', answer: said })
    } else if (said.type === 'error') {
      // It has no status here; the code says as much.
      this.end({ kind: 'refused', status: 0, error: said.error, retryAfterMs: 0 })
    }
  }

  private end(outcome: Outcome): void {
    if (this.over) return
    this.over = true
    this.wake?.()
    this.listener.ended(outcome)
  }

  private progress(): void {
    if (!this.over) this.listener.progress(this.sent - this.from, this.taken)
  }

  private async sendAll(): Promise<void> {
    try {
      for (;;) {
        const piece = await this.source.next()
        if (piece === null) break
        await this.room(bytesOf(piece))
        if (this.over) return
        this.socket.send(piece)
        this.sent += bytesOf(piece)
      }
    } catch {
      // A file that was changed or removed under us.
      return this.unreadable()
    }
    if (this.over) return
    if (this.sent < this.to) return this.unreadable()
    this.progress()
    this.socket.send('{"type":"end"}')
  }

  private unreadable(): void {
    if (this.over) return
    this.end({ kind: 'unreadable' })
    this.socket.close(1000)
  }

  /** Waits until so many bytes may follow: within the window, or where nothing else is on its way. */
  private async room(bytes: number): Promise<void> {
    while (!this.over && this.sent > this.taken && this.sent + bytes - this.taken > this.windowBytes) {
      await new Promise<void>((go) => (this.wake = go))
    }
    while (!this.over && this.socket.bufferedAmount > bufferedMax) await this.sleep(bufferedEveryMs)
  }
}
