/**
 * One question at a time, the newest wins. A new question waits a moment for a newer one, breaks off the one on its
 * way, and no answer to an older question ever replaces a newer one. The same question is asked again when there may
 * be more to tell, but not more often than `againMs`, nor, up to a point, so often that asking takes more than a fifth of the time.
 */

export interface Clock {
  now(): number
  /** Runs later, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void
}

export interface Asking<Q, A> {
  send(question: Q, signal: AbortSignal): Promise<A>
  take(answer: A, question: Q): void
  /** Not called for questions that were broken off. */
  fail(error: unknown, question: Q): void
  clock: Clock
  settleMs: number
  againMs: number
}

/** An answer that took long is not asked for again before this many times as long, or before so long. */
const restOver = 5
const restMaxMs = 2000

export class Latest<Q, A> {
  private question: Q | null = null
  private key = ''
  private busy: AbortController | null = null
  private stale = false
  private begunAt = -Infinity
  private tookMs = 0
  private cancelTimer: (() => void) | null = null

  constructor(private readonly on: Asking<Q, A>) {}

  /** Asks, unless this is what was last asked: then false. */
  ask(question: Q): boolean {
    const key = JSON.stringify(question)
    if (key === this.key) return false
    this.stop()
    this.question = question
    this.key = key
    this.later(this.on.settleMs)
    return true
  }

  /** There may be more to tell now. */
  again(): void {
    if (this.question === null) return
    if (this.busy !== null) this.stale = true
    else if (this.cancelTimer === null) {
      const pauseMs = Math.max(this.on.againMs, Math.min(restMaxMs, restOver * this.tookMs))
      this.later(this.begunAt + pauseMs - this.on.clock.now())
    }
  }

  /** Forgets the question; an answer on its way is not taken. */
  stop(): void {
    this.busy?.abort()
    this.busy = null
    this.stale = false
    this.cancelTimer?.()
    this.cancelTimer = null
    this.question = null
    this.key = ''
  }

  private later(ms: number): void {
    this.cancelTimer = this.on.clock.after(Math.max(0, ms), () => {
      this.cancelTimer = null
      void this.sendNow()
    })
  }

  private async sendNow(): Promise<void> {
    const { question } = this
    if (question === null) return
    const mine = new AbortController()
    this.busy = mine
    this.tookMs = 0
    this.begunAt = this.on.clock.now()
    try {
      const answer = await this.on.send(question, mine.signal)
      if (this.busy === mine) {
        this.tookMs = this.on.clock.now() - this.begunAt
        this.on.take(answer, question)
      }
    } catch (error) {
      if (this.busy === mine) this.on.fail(error, question)
    }
    if (this.busy !== mine) return
    this.busy = null
    if (!this.stale) return
    this.stale = false
    this.again()
  }
}

export const clock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
