/**
 * One upload of one file into one session, as a state machine. It knows no DOM and no clock of its own: `Env`
 * brings them, so that the tests can bring others.
 *
 *   sending ──200──▶ done
 *      │ lost, silent for long, busy    ┌─ retry() or by itself, from the offset the server names
 *      ▼                                │
 *   waiting (a few times, longer each) ─┤
 *      ▼                                │
 *   interrupted ────────────────────────┘      cancelled, failed: the end
 *
 * The truth about progress is the server's offset. What XHR reports runs megabytes ahead; it only tells that
 * something still moves.
 */

import { ApiError, dataUrl, readError, type ServerError, type Session } from './api'

export type Phase = 'sending' | 'waiting' | 'interrupted' | 'done' | 'cancelled' | 'failed'

export interface UploadState {
  phase: Phase
  /** Nothing moved on either side for `stallMs`. */
  stalled: boolean
  /** The server's count, last we heard. */
  offset: number
  /** Why it is waiting, interrupted or failed. */
  error: ServerError | null
  /** When the next attempt starts by itself, in `now()` time. */
  retryAt: number | null
  /** The file on disk is no longer the one picked: what the server has may be a mix. */
  changed: boolean
}

/** The part of `File` we need. */
export interface FileLike {
  readonly name: string
  readonly size: number
  readonly lastModified: number
  slice(start: number, end?: number): Blob
}

/** The part of `XMLHttpRequest` we need. */
export interface XhrLike {
  open(method: string, url: string): void
  send(body: Blob): void
  abort(): void
  getResponseHeader(name: string): string | null
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: ((event: ProgressEvent) => void) | null }
  onload: ((event: ProgressEvent) => void) | null
  onerror: ((event: ProgressEvent) => void) | null
}

export interface Env {
  xhr(): XhrLike
  session(id: string): Promise<Session>
  cancel(id: string): Promise<unknown>
  /** Can the byte at `offset` still be read? A file that was changed or removed under us cannot. */
  readable(file: FileLike, offset: number): Promise<boolean>
  now(): number
  after(ms: number, run: () => void): () => void
}

export const backoffMs = [500, 1000, 2000, 4000, 8000]
export const stallMs = 20_000
const watchMs = 1000
const answerMs = 2000

const noAnswer: ServerError = { code: 'connection_lost', message: 'the connection was lost' }
const unreadable: ServerError = {
  code: 'file_unreadable',
  message: 'the file can no longer be read: it was changed, moved or removed while it was being sent',
}

export class Upload {
  state: UploadState
  private xhr: XhrLike | null = null
  private attempt = 0
  private ending = false
  private movedAt = 0
  private stop: (() => void)[] = []
  private readonly picked: { size: number; lastModified: number }

  constructor(
    readonly file: FileLike,
    readonly session: string,
    private readonly env: Env,
    private readonly changed: (state: UploadState) => void,
  ) {
    this.picked = { size: file.size, lastModified: file.lastModified }
    this.state = { phase: 'sending', stalled: false, offset: 0, error: null, retryAt: null, changed: false }
  }

  /** Sends from `offset` to the end of the file in one request. */
  start(offset: number): void {
    this.clear()
    this.set({ phase: 'sending', offset, stalled: false, retryAt: null })
    this.movedAt = this.env.now()
    const xhr = (this.xhr = this.env.xhr())
    xhr.open('PUT', dataUrl(this.session, offset))
    xhr.upload.onprogress = () => this.moved()
    xhr.onload = () => this.answered(xhr)
    xhr.onerror = () => void this.lost()
    // A slice, never the bare File: Chromium sends it twice as fast.
    xhr.send(this.file.slice(offset, this.picked.size))
    this.watch()
  }

  /** What the server says of the session, from the live events. */
  serverSays({ offset, state }: Pick<Session, 'offset' | 'state'>): void {
    if (this.state.phase !== 'sending') return
    if (state === 'finished' && !this.ending) {
      // Its answer to the request should be on the way; if that is lost, nothing else is.
      this.ending = true
      this.stop.push(this.env.after(answerMs, () => void this.finish()))
    }
    if (offset <= this.state.offset) return
    this.attempt = 0 // it gets somewhere: the next loss starts with short waits again
    this.set({ offset, error: null })
    this.moved()
  }

  /** Goes on from where the server is. Also the button's. */
  async retry(): Promise<void> {
    if (this.ended()) return
    this.clear()
    this.set({ phase: 'waiting', retryAt: null })
    let session: Session
    try {
      session = await this.env.session(this.session)
    } catch (error) {
      if (this.state.phase === 'waiting') this.refused(error)
      return
    }
    if (this.state.phase === 'waiting') this.resumeAs(session)
  }

  async cancel(): Promise<void> {
    if (this.ended()) return
    this.clear()
    this.set({ phase: 'cancelled', stalled: false, retryAt: null })
    await this.env.cancel(this.session)
  }

  /** Lets go without a word to the server (the session was deleted). */
  drop(): void {
    this.clear()
    if (!this.ended()) this.set({ phase: 'cancelled', stalled: false, retryAt: null })
  }

  private ended(): boolean {
    return ['done', 'cancelled', 'failed'].includes(this.state.phase)
  }

  private set(change: Partial<UploadState>): void {
    this.state = { ...this.state, ...change }
    this.changed(this.state)
  }

  /** Ends the request and the timers; their callbacks come to nothing. */
  private clear(): void {
    for (const stop of this.stop.splice(0)) stop()
    const xhr = this.xhr
    this.xhr = null
    if (!xhr) return
    xhr.onload = xhr.onerror = xhr.upload.onprogress = null
    xhr.abort()
  }

  private moved(): void {
    this.movedAt = this.env.now()
    if (this.state.stalled) this.set({ stalled: false })
  }

  /** A browser may say nothing at all when a file is cut under it (Firefox), so we look ourselves. */
  private watch(): void {
    const again = this.env.after(watchMs, () => {
      if (this.state.phase !== 'sending') return
      if (!this.state.stalled && this.env.now() - this.movedAt >= stallMs) {
        this.set({ stalled: true })
        void this.checkReadable()
      }
      this.watch()
    })
    this.stop.push(again)
  }

  private async checkReadable(): Promise<boolean> {
    const last = Math.max(0, this.picked.size - 1)
    if (this.picked.size === 0 || (await this.env.readable(this.file, last))) return true
    if (!this.ended()) this.fail(unreadable, true)
    return false
  }

  private answered(xhr: XhrLike): void {
    const { status } = xhr
    this.xhr = null
    if (status === 200) return void this.finish()
    const error = readError(xhr.responseText, status)
    if (error.code === 'offset_mismatch' && typeof error.offset === 'number')
      return this.goOnFrom(error.offset)
    if (error.code === 'finished') return void this.finish()
    // Busy: the server has not yet noticed that our former connection is gone.
    // Interrupted: the server gave up on a silence of ours (a laptop that slept, say), and waits for the rest.
    if (error.code === 'busy' || error.code === 'interrupted' || status === 429 || status === 503) {
      return this.wait(error, 1000 * Number(xhr.getResponseHeader('Retry-After') ?? 0))
    }
    if (error.code === 'cancelled') {
      this.clear()
      return this.set({ phase: 'cancelled', stalled: false, retryAt: null })
    }
    this.fail(error)
  }

  /** The server is elsewhere than we thought. Twice at once without progress would be a loop. */
  private goOnFrom(offset: number): void {
    if (this.attempt > 0 && offset === this.state.offset) return this.wait(noAnswer)
    this.attempt++
    this.start(offset)
  }

  private async lost(): Promise<void> {
    this.clear()
    this.set({ phase: 'waiting', error: noAnswer, retryAt: null })
    if (!(await this.checkReadable())) return
    // A refusal in the middle of the body reaches some browsers as a lost connection: ask what it was.
    if (this.state.phase === 'waiting') this.wait(noAnswer)
  }

  private wait(error: ServerError, atLeastMs = 0): void {
    this.clear()
    const pause = backoffMs[this.attempt++]
    if (pause === undefined) return this.set({ phase: 'interrupted', error, retryAt: null, stalled: false })
    const ms = Math.max(pause, atLeastMs)
    this.set({ phase: 'waiting', error, retryAt: this.env.now() + ms, stalled: false })
    this.stop.push(this.env.after(ms, () => void this.retry()))
  }

  private resumeAs(session: Session): void {
    if (session.state === 'finished') return void this.finish()
    if (session.state === 'cancelled') return this.set({ phase: 'cancelled', retryAt: null })
    if (session.state === 'failed') {
      return this.fail(session.error ?? { code: 'failed', message: 'the server could not read on' })
    }
    this.start(session.offset)
  }

  private refused(error: unknown): void {
    if (error instanceof ApiError && error.status === 404) {
      return this.fail({ code: 'no_session', message: 'the server no longer knows this session' })
    }
    if (error instanceof ApiError && (error.status === 401 || error.status === 403))
      return this.fail(error.body)
    this.wait(noAnswer)
  }

  private fail(error: ServerError, changed = false): void {
    this.clear()
    this.set({
      phase: 'failed',
      error,
      retryAt: null,
      stalled: false,
      changed: changed || this.state.changed,
    })
  }

  /** All is there; but was it one file all the while? */
  private async finish(): Promise<void> {
    this.clear()
    this.set({ phase: 'done', error: null, retryAt: null, stalled: false })
    const { size, lastModified } = this.file
    const same = size === this.picked.size && lastModified === this.picked.lastModified
    if (!same || (size > 0 && !(await this.env.readable(this.file, size - 1)))) this.set({ changed: true })
  }
}

/** The session a dropped file belongs to: one that was cut off, of the same name and size. Newest first. */
export function resumable(
  file: FileLike,
  sessions: Session[],
  busy: (id: string) => boolean,
): Session | null {
  const open = (session: Session) => session.state === 'interrupted' || session.state === 'waiting'
  return (
    sessions.find(
      (session) =>
        open(session) && !busy(session.id) && session.name === file.name && session.size === file.size,
    ) ?? null
  )
}
