/**
 * Drawing by turns: what has to be drawn anew waits here, and every frame takes as much of it as fits into a budget, so
 * that however many panels an answer changes, no frame is late. What is in sight comes first. A turn is measured with
 * the layout that it causes; painting comes on top.
 */

export interface Turn {
  /** A canvas: its pixels are made after its turn, so that it has a frame for itself. */
  alone(): boolean
  /** The lower the sooner; Infinity: not now. */
  rank(): number
  draw(): void
}

export interface Frames {
  /** Runs before the next frame is painted. */
  next(run: () => void): void
  now(): number
}

export class Turns {
  private waiting = new Set<Turn>()
  private asked = false
  private busy = false

  constructor(
    private readonly frames: Frames,
    private readonly budgetMs: () => number,
    /** Whether something is waiting that will be drawn by itself. */
    private readonly changed: (busy: boolean) => void,
  ) {}

  /** Draws in the next frame, or in one of those after it; once, however often it is asked for until then. */
  ask(turn: Turn): void {
    this.waiting.add(turn)
    this.look()
  }

  drop(turn: Turn): void {
    if (this.waiting.delete(turn)) this.look()
  }

  /** Ranks have changed. */
  look(): void {
    const busy = [...this.waiting].some((turn) => turn.rank() < Infinity)
    if (busy !== this.busy) this.changed((this.busy = busy))
    if (!busy || this.asked) return
    this.asked = true
    this.frames.next(() => this.frame())
  }

  /** One at least, or a slow machine would never come to the end. */
  private frame(): void {
    this.asked = false
    const until = this.frames.now() + this.budgetMs()
    const due = this.due()
    for (const [index, turn] of due.entries()) {
      this.waiting.delete(turn)
      turn.draw()
      if (turn.alone() || due[index + 1]?.alone() || this.frames.now() >= until) break
    }
    this.look()
  }

  private due(): Turn[] {
    return [...this.waiting]
      .map((turn) => ({ turn, rank: turn.rank() }))
      .filter(({ rank }) => rank < Infinity)
      .sort((a, b) => a.rank - b.rank)
      .map(({ turn }) => turn)
  }
}
