import { expect, test } from 'vitest'
import { rank, rerankMs } from './steadyranking'

const row = (value: string, hits: number) => ({ value, hits, bytes: 0 })

test('places are kept for a second while numbers change, then rank anew', () => {
  const first = rank(null, [row('a', 3), row('b', 2)], 0)
  const soon = rank(first.ranking, [row('c', 9), row('b', 5), row('a', 4)], rerankMs - 1)
  expect(soon.rows).toEqual([row('a', 4), row('b', 5), row('c', 9)])
  const later = rank(soon.ranking, [row('c', 9), row('b', 5), row('a', 4)], rerankMs)
  expect(later.rows.map((r) => r.value)).toEqual(['c', 'b', 'a'])
})

test('a value that is no longer listed goes', () => {
  const first = rank(null, [row('a', 3), row('b', 2)], 0)
  expect(rank(first.ranking, [row('b', 4)], 1).rows).toEqual([row('b', 4)])
})
