/** The lines that match: only those in the window are asked for, by blocks, and the blocks used last are kept. */

import { ApiError } from './api'
import { store } from './state.svelte'
import { viewApi, type Row, type Selection } from './viewapi'
import { blockRows, Blocks, blocks } from './window'

const settleMs = 40

class Lines {
  /** Counts up when a block came: the rows are in no signal of their own. */
  arrived = $state(0)
  trouble = $state<string | null>(null)
  fromEnd = $state(false)

  private held = new Blocks<Row>()
  private key = ''
  private selection: Selection | null = null
  private total = 0
  private onWay = new Map<number, AbortController>()
  private timer: ReturnType<typeof setTimeout> | undefined

  /** Another view has other rows; while lines arrive, only the last block can be short. */
  show(selection: Selection, total: number): void {
    const key = JSON.stringify([store.place.session, selection, this.fromEnd])
    if (key !== this.key || (this.fromEnd && total !== this.total)) this.reset()
    this.key = key
    this.selection = selection
    this.total = total
  }

  row(index: number): Row | undefined {
    void this.arrived
    return this.held.row(index)
  }

  /** The window moved there. It settles for a moment: a thumb drawn over millions of rows asks for few of them. */
  want(first: number, count: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.fetchMissing(first, count), settleMs)
  }

  private fetchMissing(first: number, count: number): void {
    const wanted = blocks(first, count, this.total)
    for (const [block, request] of this.onWay) if (!wanted.includes(block)) request.abort()
    for (const block of wanted) {
      if (!this.onWay.has(block) && !this.whole(block)) void this.fetchBlock(block)
    }
  }

  private whole(block: number): boolean {
    const last = Math.min(this.total, (block + 1) * blockRows) - 1
    return this.held.has(block) && this.held.row(last) !== undefined
  }

  private async fetchBlock(block: number): Promise<void> {
    const { session } = store.place
    const { selection, key } = this
    if (session === null || selection === null) return
    const request = new AbortController()
    this.onWay.set(block, request)
    const question = { ...selection, offset: block * blockRows, limit: blockRows, from_end: this.fromEnd }
    try {
      const answer = await viewApi.rows(session, question, request.signal)
      if (key !== this.key) return
      this.held.put(block, answer.rows)
      this.trouble = null
      this.arrived++
    } catch (error) {
      if (!request.signal.aborted && key === this.key) {
        this.trouble = error instanceof ApiError ? error.body.message : String(error)
      }
    } finally {
      if (this.onWay.get(block) === request) this.onWay.delete(block)
    }
  }

  private reset(): void {
    for (const request of this.onWay.values()) request.abort()
    this.onWay.clear()
    this.held.clear()
    this.arrived++
  }
}

export const lines = new Lines()
