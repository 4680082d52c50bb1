/**
 * One upload of one file into one session, as a state machine. It knows no DOM, no clock and no transport of its own: `Env`
 * brings them, so that the tests can bring others.
 *
 *   sending ──done──▶ done
 *      │ lost, silent for long, busy    ┌─ retry() or by itself, from the offset the server names
 *      ▼                                │
 *   waiting (longer each time) ─────────┤
 *      ▼                                │
 *   interrupted, paused ────────────────┘      cancelled, failed: the end
 *
 * The truth about progress is the server's offset. What a browser reports runs megabytes ahead; it only tells that
 * something still moves, and how much is on its way.
 */

import { ApiError, dataUrl, socketUrl, type ServerError, type Session } from './api'
import { isHeldBack } from './buffering'
import { changeWords, type Change, type Picked } from './filewatch'
import type { FileLike } from './recognise'
import type { Job, Outcome, Transport, Way } from './transport'

export type Phase = 'sending' | 'waiting' | 'paused' | 'interrupted' | 'done' | 'cancelled' | 'failed'

export interface UploadState {
  phase: Phase
  way: Way
  /** The server's count, last we heard. */
  offset: number
  /** Why it is waiting, interrupted or failed. */
  error: ServerError | null
  /** When the next attempt starts by itself, in `now()` time. */
  retryAt: number | null
  /** Since when nothing moved though bytes are on their way, in `now()` time. */
  quietSince: number | null
  /** Something between here and the server keeps the bytes until it has all of them. */
  heldBack: boolean
  /** The file on disk is no longer the one picked: what the server has may be a mix. */
  changed: boolean
}

export interface Env {
  /** The ways to try, best first. */
  ways(): Way[]
  transport: Record<Way, Transport>
  /** What was learnt about a way: that it brought bytes here, or that another did where it did not. */
  learnt(way: Way, works: boolean): void
  session(id: string): Promise<Session>
  cancel(id: string): Promise<unknown>
  /** What became of a file; null while it is the one that was picked. */
  look(file: FileLike, picked: Picked): Promise<Change | null>
  now(): number
  after(ms: number, run: () => void): () => void
}

/** Some five minutes in all: a server that is started again, a laptop that changes its network. */
export const backoffMs = [500, 1000, 2000, 4000, 8000, ...Array<number>(10).fill(30_000)]
/** A silence that is worth a word. */
export const quietMs = 5000
/** A silence that a new connection may end; the server gives up on one after 60 s. */
export const reconnectMs = 45_000
const watchMs = 1000
const lookEveryMs = 3000
const answerMs = 2000

const noAnswer: ServerError = { code: 'connection_lost', message: 'the connection was lost' }

export class Upload {
  state: UploadState
  private ways: Way[]
  /** Ways that broke off before anything was taken, since anything was. */
  private readonly broke = new Set<Way>()
  private stopSending: (() => void) | null = null
  private attempt = 0
  private ending = false
  private begunAt = 0
  private begunFrom = 0
  private sent = 0
  private movedAt = 0
  private heardAt = 0
  private lookedAt = 0
  private stop: (() => void)[] = []
  private readonly picked: Picked

  constructor(
    readonly file: FileLike,
    readonly session: string,
    private readonly env: Env,
    private readonly changed: (state: UploadState) => void,
  ) {
    this.picked = { size: file.size, lastModified: file.lastModified }
    this.ways = env.ways()
    this.state = {
      phase: 'sending',
      way: this.ways[0] ?? 'put',
      offset: 0,
      error: null,
      retryAt: null,
      quietSince: null,
      heldBack: false,
      changed: false,
    }
  }

  /** Sends from `offset` to the end of the file. */
  start(offset: number): void {
    this.clear()
    const way = this.ways.find((way) => !this.broke.has(way)) ?? this.state.way
    this.set({ phase: 'sending', way, offset, quietSince: null, retryAt: null, heldBack: false })
    this.begunAt = this.movedAt = this.heardAt = this.lookedAt = this.env.now()
    this.begunFrom = offset
    this.sent = 0
    this.stopSending = this.env.transport[way](this.job(offset), {
      sent: (bytes) => this.left(bytes),
      taken: (offset) => this.taken(offset),
      ended: (outcome) => this.ended(outcome),
    })
    this.watch()
  }

  /** What the server says of the session, from the live events. */
  serverSays({ offset, state }: Pick<Session, 'offset' | 'state'>): void {
    if (this.state.phase !== 'sending') return
    this.heardAt = this.env.now()
    if (state === 'finished' && !this.ending) {
      // Its answer to the request should be on the way; if that is lost, nothing else is.
      this.ending = true
      this.stop.push(this.env.after(answerMs, () => void this.finish()))
    }
    this.taken(offset)
    const sight = {
      sent: this.sent,
      taken: offset - this.begunFrom,
      forMs: this.heardAt - this.begunAt,
      state,
    }
    if (!this.state.heldBack && isHeldBack(sight)) this.set({ heldBack: true })
  }

  /** Goes on from where the server is. Also the button's. */
  async retry(): Promise<void> {
    if (this.isOver()) return
    this.clear()
    this.set({ phase: 'waiting', retryAt: null, quietSince: null })
    let session: Session
    try {
      session = await this.env.session(this.session)
    } catch (error) {
      if (this.state.phase === 'waiting') this.refused(error)
      return
    }
    if (this.state.phase === 'waiting') this.resumeAs(session)
  }

  /** Until retry(). What is on its way may still arrive; where to go on the server tells then. */
  pause(): void {
    if (this.isOver()) return
    this.clear()
    this.set({ phase: 'paused', error: null, retryAt: null, quietSince: null })
  }

  async cancel(): Promise<void> {
    if (this.isOver()) return
    this.clear()
    this.set({ phase: 'cancelled', quietSince: null, retryAt: null })
    await this.env.cancel(this.session)
  }

  /** Lets go without a word to the server (the session was deleted). */
  drop(): void {
    this.clear()
    if (!this.isOver()) this.set({ phase: 'cancelled', quietSince: null, retryAt: null })
  }

  private isOver(): boolean {
    return ['done', 'cancelled', 'failed'].includes(this.state.phase)
  }

  private job(from: number): Job {
    const url = { put: dataUrl(this.session, from), socket: socketUrl(this.session, from) }
    return { file: this.file, from, to: this.picked.size, url }
  }

  private set(change: Partial<UploadState>): void {
    this.state = { ...this.state, ...change }
    this.changed(this.state)
  }

  /** Ends what is being sent and the timers; their callbacks come to nothing. */
  private clear(): void {
    for (const stop of this.stop.splice(0)) stop()
    const stop = this.stopSending
    this.stopSending = null
    this.ending = false
    stop?.()
  }

  private left(bytes: number): void {
    if (bytes <= this.sent) return
    this.sent = bytes
    this.moved()
  }

  private taken(offset: number): void {
    if (this.state.phase !== 'sending' || offset <= this.state.offset) return
    this.attempt = 0 // it gets somewhere: the next loss starts with short waits again
    this.works()
    this.set({ offset, error: null })
    this.moved()
  }

  /** This way brings bytes: what broke before it is worse here. */
  private works(): void {
    const { way } = this.state
    if (this.ways[0] === way && this.broke.size === 0) return
    for (const other of this.broke) this.env.learnt(other, false)
    this.env.learnt(way, true)
    this.ways = [way, ...this.ways.filter((other) => other !== way)]
    this.broke.clear()
  }

  private moved(): void {
    this.movedAt = this.env.now()
    if (this.state.quietSince !== null) this.set({ quietSince: null })
  }

  /** Browsers and networks may fall silent without a word, so we look ourselves. */
  private watch(): void {
    const again = this.env.after(watchMs, () => {
      if (this.state.phase !== 'sending') return
      this.watch()
      this.watchSilence()
      this.watchServer()
      if (this.env.now() - this.lookedAt >= lookEveryMs) void this.isSame()
    })
    this.stop.push(again)
  }

  private watchSilence(): void {
    // Where all was taken there is only an answer to wait for; a proxy that has it all will pass it on.
    if (this.state.offset >= this.picked.size || this.state.heldBack) return
    const silentMs = this.env.now() - this.movedAt
    if (silentMs >= reconnectMs) return void this.retry()
    if (silentMs >= quietMs && this.state.quietSince === null) this.set({ quietSince: this.movedAt })
  }

  /** Live events tell most; where none come, because something holds them back too, we ask. */
  private watchServer(): void {
    if (this.state.phase !== 'sending' || this.env.now() - this.heardAt <= watchMs) return
    const { begunAt } = this
    this.env.session(this.session).then(
      (session) => {
        if (this.begunAt === begunAt) this.serverSays(session)
      },
      () => undefined, // what sends will hear of it
    )
  }

  /** Whether the file is still the one that was picked; ends the upload where it is not. */
  private async isSame(): Promise<boolean> {
    this.lookedAt = this.env.now()
    const change = await this.env.look(this.file, this.picked)
    if (change === null) return true
    if (!this.isOver()) this.fail(this.changeError(change), true)
    return false
  }

  private changeError(change: Change): ServerError {
    const words = changeWords(this.picked, change)
    return { code: 'file_changed', message: `${this.file.name} changed while it was uploaded: ${words}` }
  }

  private ended(outcome: Outcome): void {
    this.stopSending = null
    switch (outcome.kind) {
      case 'done':
        return this.wasTaken(outcome.answer)
      case 'refused':
        return this.wasRefused(outcome.error, outcome.status, outcome.retryAfterMs)
      case 'lost':
      case 'unreadable':
        return void this.lost()
    }
  }

  /** In order; but the server may still wait for a rest. */
  private wasTaken(answer: unknown): void {
    const session = (answer as { session?: Session })?.session ?? (answer as Session | null)
    if (session?.state === 'waiting') return this.wait(noAnswer)
    void this.finish()
  }

  private wasRefused(error: ServerError, status: number, retryAfterMs: number): void {
    if (error.code === 'offset_mismatch' && typeof error.offset === 'number')
      return this.goOnFrom(error.offset)
    if (error.code === 'finished') return void this.finish()
    // Busy: the server has not yet noticed that our former connection is gone.
    // Interrupted: the server gave up on a silence of ours (a laptop that slept, say), and waits for the rest.
    if (error.code === 'busy' || error.code === 'interrupted' || status === 429 || status === 503) {
      return this.wait(error, retryAfterMs)
    }
    if (error.code === 'cancelled') {
      this.clear()
      return this.set({ phase: 'cancelled', quietSince: null, retryAt: null })
    }
    // A proxy without a server behind it.
    if (status === 502 || status === 504) return this.wait(noAnswer)
    this.fail(error)
  }

  /** The server is elsewhere than we thought. Twice at once without progress would be a loop. */
  private goOnFrom(offset: number): void {
    if (this.attempt > 0 && offset === this.state.offset) return this.wait(noAnswer)
    this.attempt++
    this.start(offset)
  }

  private async lost(): Promise<void> {
    const nothing = this.state.offset === this.begunFrom
    const { way } = this.state
    this.clear()
    this.set({ phase: 'waiting', error: noAnswer, retryAt: null, quietSince: null })
    if (!(await this.isSame()) || this.state.phase !== 'waiting') return
    if (nothing && this.isAnotherWay(way)) return this.start(this.state.offset)
    // A refusal in the middle of the body reaches some browsers as a lost connection: ask what it was.
    this.wait(noAnswer)
  }

  /** Where a way broke before anything was taken, another may not; where all do, it is the network, and all are good again. */
  private isAnotherWay(way: Way): boolean {
    this.broke.add(way)
    if (this.ways.some((other) => !this.broke.has(other))) return true
    this.broke.clear()
    return false
  }

  private wait(error: ServerError, atLeastMs = 0): void {
    this.clear()
    const pause = backoffMs[this.attempt++]
    if (pause === undefined) return this.set({ phase: 'interrupted', error, retryAt: null, quietSince: null })
    const ms = Math.max(pause, atLeastMs)
    this.set({ phase: 'waiting', error, retryAt: this.env.now() + ms, quietSince: null })
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
      quietSince: null,
      changed: changed || this.state.changed,
    })
  }

  /** All is there; but was it one file all the while? */
  private async finish(): Promise<void> {
    this.clear()
    this.set({ phase: 'done', error: null, retryAt: null, quietSince: null })
    const change = await this.env.look(this.file, this.picked)
    if (change !== null) this.set({ changed: true, error: this.changeError(change) })
  }
}
