import { describe, expect, it } from 'vitest'
import { arrange, factsOf, hide, pin, setRole, unarranged, unfold } from './arrange'
import type { Panel } from './api'
import type { NumberSummary } from './viewapi'

const panel = (field: string, distinct: number, hits: number, value = 'x') =>
  ({
    field,
    title: field,
    hits,
    distinct: { count: distinct, exact: true, error: 0 },
    exact: true,
    error_max: 0,
    rows: [{ value, hits, hits_min: hits, hits_max: hits, bytes: 0 }],
  }) as unknown as Panel
const number = (field: string, min: number, max: number, hits: number) =>
  ({
    field,
    unit: 'integer',
    hits,
    min,
    max,
    quantiles: null,
    quantile_error: 0,
    buckets: null,
  }) as NumberSummary

const table = ['env', 'id', 'level', 'user', 'took', 'version'].map((name) => ({
  name,
  kind: ['took', 'version'].includes(name) ? ('number' as const) : ('text' as const),
  unit: null,
}))
const facts = factsOf(
  table,
  [panel('env', 1, 1000, 'prod'), panel('id', 1000, 1000), panel('level', 3, 1000), panel('user', 80, 900)],
  [number('took', 0, 9, 1000), number('version', 3, 3, 1000)],
  1000,
  (name) => (name === 'level' ? 'severity' : 'none'),
)
const names = table.map(({ name }) => name)

describe('columns', () => {
  it('that say nothing, or another thing of each row, are folded; severity is first', () => {
    const { shown, folded, hidden } = arrange(names, facts, unarranged, '')
    expect(shown).toEqual(['level', 'user', 'took'])
    expect(folded).toEqual([
      { name: 'env', why: 'prod in all rows' },
      { name: 'id', why: '1,000 values in 1,000 rows' },
      { name: 'version', why: '3 in all rows' },
    ])
    expect(hidden).toEqual([])
  })

  it('are pinned, hidden and opened', () => {
    let all = pin(pin(unarranged, 'took'), 'id')
    expect(arrange(names, facts, all, '').shown).toEqual(['took', 'id', 'level', 'user'])
    all = hide(all, 'took')
    expect(all.pinned).toEqual(['id'])
    expect(arrange(names, facts, all, '').hidden).toEqual(['took'])
    all = pin(all, 'took')
    expect(all.hidden).toEqual([])
    const opened = unfold(unarranged, 'env')
    expect(arrange(names, facts, opened, '').shown).toEqual(['level', 'env', 'user', 'took'])
    expect(unfold(opened, 'env')).toEqual(unarranged)
  })

  it('are found by a part of their names, wherever they are', () => {
    const all = hide(unarranged, 'level')
    expect(arrange(names, facts, all, ' V').shown).toEqual(['level', 'env', 'version'])
    expect(arrange(names, facts, all, 'nothing').shown).toEqual([])
  })

  it('have the role that the reader gives', () => {
    const given = setRole(unarranged, 'user', 'client', 'none')
    expect(given.roles).toEqual({ user: 'client' })
    expect(setRole(given, 'user', 'none', 'none')).toEqual(unarranged)
  })
})
