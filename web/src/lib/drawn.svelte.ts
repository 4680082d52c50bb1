/** What a part of the page shows: the newest there is of it, taken over when its turn comes (turns.ts). */

import { flushSync, onDestroy, untrack } from 'svelte'
import { sight } from './sight'
import { store } from './state.svelte'
import { Turns, type Turn } from './turns'
import { views } from './views.svelte'

/** Of 16 ms while lines arrive: painting takes some more, and the server most of the machine. */
const budgetMs = 3
/** What is in sight ranks below it. */
const farRank = 1000

class Drawing {
  /** The page does not show yet what it knows. */
  busy = $state(false)
}

export const drawing = new Drawing()

const turns = new Turns(
  {
    // A hidden page paints no frames; what it missed is drawn when it is seen again.
    next: (run) => requestAnimationFrame(run),
    now: () => performance.now(),
  },
  // Afterwards nothing else moves, and one frame has all of it soonest.
  () => (store.arriving ? budgetMs : Infinity),
  (busy) => (drawing.busy = busy),
)

export class Drawn<T> {
  /** Null before the first turn. */
  value = $state.raw<T | null>(null)

  private newest: T | null = null
  /** The question that `value` answers. */
  private question: unknown = null
  private near = $state(true)
  private host: HTMLElement | null = null
  private readonly turn: Turn

  /** `index`: its place among all parts that wait for a turn; `alone`: there is a canvas in it. */
  constructor(read: () => T, index: () => number, alone = () => false) {
    this.turn = {
      alone: () => store.arriving && alone(),
      rank: () => untrack(() => this.rank(index())),
      draw: () => this.draw(),
    }
    $effect.pre(() => {
      const newest = read()
      if (newest === this.newest) return
      this.newest = newest
      turns.ask(this.turn)
    })
    $effect(() => {
      void [this.near, store.arriving]
      turns.look()
    })
    onDestroy(() => turns.drop(this.turn))
  }

  /** An action: for the element it is drawn in. */
  seen = (node: HTMLElement) => {
    this.host = node
    return sight(node, (near) => (this.near = near))
  }

  /** While lines arrive, what is out of sight keeps its numbers until it is in sight, or another view is asked for. */
  private rank(index: number): number {
    if (this.near) return index
    const held = store.arriving && this.value !== null && this.question === views.answer?.question
    return held ? Infinity : farRank + index
  }

  private draw(): void {
    this.question = views.answer?.question
    flushSync(() => (this.value = this.newest))
    if (store.arriving) void this.host?.offsetHeight // its layout belongs to its turn
  }
}
