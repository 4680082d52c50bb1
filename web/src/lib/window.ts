/** A window onto any number of rows: what is visible, what to fetch, and how far down the thumb stands. */

export interface Geometry {
  total: number
  /** Rows that fit, whole. */
  visible: number
  rowPx: number
}

/** Browsers cannot make an element higher than some 17 to 33 million pixels. */
const heightMaxPx = 8_000_000

/** The last row that can be at the top. */
export const firstMax = ({ total, visible }: Geometry) => Math.max(0, total - visible)

export const clampFirst = (first: number, of: Geometry) => Math.min(firstMax(of), Math.max(0, first))

/** How high the scrolled element is: true to scale, until there are too many rows. */
export const heightPx = (of: Geometry) => Math.min(of.total * of.rowPx, heightMaxPx)

/** Beyond that height a pixel is more than a row: the thumb is then only a rough guide. */
export const isScaled = (of: Geometry) => of.total * of.rowPx > heightMaxPx

const travelPx = (of: Geometry) => Math.max(1, heightPx(of) - of.visible * of.rowPx)

/** The row at the top for a scroll position, and back. */
export const firstAt = (scrollPx: number, of: Geometry) =>
  isScaled(of)
    ? clampFirst(Math.round((scrollPx / travelPx(of)) * firstMax(of)), of)
    : clampFirst(Math.round(scrollPx / of.rowPx), of)

export const scrollAt = (first: number, of: Geometry) =>
  isScaled(of) ? (clampFirst(first, of) / Math.max(1, firstMax(of))) * travelPx(of) : first * of.rowPx

/** The top row that brings `row` into the window with the least movement. */
export function reveal(row: number, first: number, of: Geometry): number {
  if (row < first) return clampFirst(row, of)
  if (row >= first + of.visible) return clampFirst(row - of.visible + 1, of)
  return first
}

export const blockRows = 100

/** Numbers of the blocks that rows `first` to `first + count` lie in. */
export function blocks(first: number, count: number, total: number): number[] {
  if (total <= 0 || count <= 0) return []
  const from = Math.floor(Math.max(0, first) / blockRows)
  const to = Math.floor((Math.min(total, first + count) - 1) / blockRows)
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

/** Blocks kept; those used longest ago go. */
const blocksMax = 40

/** Blocks of rows by number, the most recently used last. */
export class Blocks<Row> {
  private readonly held = new Map<number, Row[]>()

  row(index: number): Row | undefined {
    return this.held.get(Math.floor(index / blockRows))?.[index % blockRows]
  }

  has(block: number): boolean {
    const rows = this.held.get(block)
    if (rows === undefined) return false
    this.held.delete(block)
    this.held.set(block, rows)
    return true
  }

  put(block: number, rows: Row[]): void {
    this.held.delete(block)
    this.held.set(block, rows)
    for (const oldest of this.held.keys()) {
      if (this.held.size <= blocksMax) return
      this.held.delete(oldest)
    }
  }

  get size(): number {
    return this.held.size
  }

  clear(): void {
    this.held.clear()
  }
}
