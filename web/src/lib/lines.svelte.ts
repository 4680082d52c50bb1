/** The lines that match: only those in the window are asked for, by blocks, and the blocks used last are kept. */

import { ApiError } from './api'
import { liveKey } from './fleet'
import { store } from './state.svelte'
import { sortedRowsMax, viewApi, type Ordered, type Row, type RowOrder, type Selection } from './viewapi'
import { blockRows, Blocks, blocks } from './window'

const settleMs = 40

class Lines {
  /** Counts up when a block came: the rows are in no signal of their own. */
  arrived = $state(0)
  trouble = $state<string | null>(null)
  fromEnd = $state(false)
  /** Other lines may come before. */
  isInexact = $state(false)
  /** Variables of the format that no rebuilt line has. */
  unkept = $state<string[]>([])

  private held = new Blocks<Row>()
  /** The peers that the blocks held are of; null while there are none. */
  private heldPeers: string | null = null
  private key = ''
  private selection: Selection | null = null
  private sort: RowOrder | null = null
  private total = 0
  private matching = 0
  private finding: AbortController | null = null
  private onWay = new Map<number, AbortController>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private window = { first: 0, count: 0 }

  /**
   * Another view has other rows. While lines arrive, only the last block can be short; in another order than that of
   * the log, each of the `matching` lines may come anywhere. So may those of other servers, which are merged by time;
   * and one that goes takes its rows with it.
   */
  show(selection: Selection, sort: RowOrder | null, total: number, matching: number): void {
    const fleet = store.session?.fleet
    const key = JSON.stringify([store.place.session, selection, sort ?? this.fromEnd, liveKey(fleet)])
    const moves = sort !== null || this.fromEnd || fleet !== undefined
    if (key !== this.key || (moves && matching !== this.matching)) this.reset()
    this.key = key
    this.selection = selection
    this.sort = sort
    this.total = total
    this.matching = matching
  }

  private get ordered(): Ordered {
    return { from_end: this.fromEnd && this.sort === null, sort: this.sort }
  }

  /** The next row that meets a filter, or has one of these names; null where there is none, nothing where that is not known. */
  async find(
    sought: { match: string } | { places: string[] },
    after: number | null,
    backwards: boolean,
  ): Promise<number | null | undefined> {
    const { session } = store.place
    const { selection, key } = this
    if (session === null || selection === null) return undefined
    this.finding?.abort()
    const request = new AbortController()
    this.finding = request
    const none = { match: null, places: [] }
    const question = { ...selection, ...this.ordered, ...none, ...sought, after, backwards }
    try {
      const { row } = await viewApi.find(session, question, request.signal)
      this.trouble = null
      return key === this.key ? row : undefined
    } catch (error) {
      if (!request.signal.aborted && key === this.key) this.fail(error)
      return undefined
    }
  }

  private fail(error: unknown): void {
    this.trouble = error instanceof ApiError ? error.body.message : String(error)
  }

  row(index: number): Row | undefined {
    void this.arrived
    return this.held.row(index)
  }

  /** The window moved there. It settles for a moment: a thumb drawn over millions of rows asks for few of them. */
  want(first: number, count: number): void {
    clearTimeout(this.timer)
    this.window = { first, count }
    this.timer = setTimeout(() => this.fetchMissing(), settleMs)
  }

  private fetchMissing(): void {
    const { first, count } = this.window
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
    const question = { ...selection, ...this.ordered, offset: block * blockRows, limit: blockRows }
    try {
      const answer = await viewApi.rows(session, question, request.signal)
      if (request.signal.aborted || key !== this.key) return
      const isOfOthers = this.heldPeers !== null && this.heldPeers !== liveKey(answer.fleet)
      if (isOfOthers) this.reset()
      this.heldPeers = liveKey(answer.fleet)
      this.held.put(block, answer.rows)
      if (isOfOthers) this.fetchMissing()
      this.isInexact = answer.sort?.exact === false
      this.unkept = answer.lines.unkept
      this.trouble = null
      this.arrived++
    } catch (error) {
      if (!request.signal.aborted && key === this.key) this.fail(error)
    } finally {
      if (this.onWay.get(block) === request) this.onWay.delete(block)
    }
  }

  private reset(): void {
    for (const request of this.onWay.values()) request.abort()
    this.onWay.clear()
    this.held.clear()
    this.heldPeers = null
    this.isInexact = false
    this.arrived++
  }
}

/** Rows that can be shown of so many. */
export const shownTotal = (total: number, order: RowOrder | null) =>
  order === null ? total : Math.min(total, sortedRowsMax)

export const lines = new Lines()
