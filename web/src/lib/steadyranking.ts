/** Rows that do not jump: a panel keeps its order for a while before it ranks anew. */

import type { Row } from './api'

export const rerankMs = 1000

export interface Ranking {
  order: string[]
  at: number
}

/** The new ranking and the rows in it. Numbers are always the newest; only places are kept. */
export function rank(
  previous: Ranking | null,
  rows: Row[],
  nowMs: number,
): { ranking: Ranking; rows: Row[] } {
  if (previous === null || nowMs - previous.at >= rerankMs) {
    return { ranking: { order: rows.map((row) => row.value), at: nowMs }, rows }
  }
  const byValue = new Map(rows.map((row) => [row.value, row]))
  const kept = previous.order.flatMap((value) => byValue.get(value) ?? [])
  for (const row of kept) byValue.delete(row.value)
  const all = [...kept, ...byValue.values()]
  return { ranking: { order: all.map((row) => row.value), at: previous.at }, rows: all }
}
