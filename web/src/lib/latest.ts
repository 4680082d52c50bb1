/**
 * One question at a time, the newest wins. A new question waits a moment for a newer one, breaks off the one on its
 * way, and no answer to an older question ever replaces a newer one. The same question is asked again when there may
 * be more to tell, but not more often than `againMs`.
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

export class Latest<Q, A> {
  private question: Q | null = null
  private key = ''
  private busy: AbortController | null = null
  private stale = false
  private begunAt = -Infinity
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
    else if (this.cancelTimer === null) this.later(this.begunAt + this.on.againMs - this.on.clock.now())
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
    this.begunAt = this.on.clock.now()
    try {
      const answer = await this.on.send(question, mine.signal)
      if (this.busy === mine) this.on.take(answer, question)
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
