import { expect, test } from 'vitest'
import type { Panel, Row } from './api'
import { faceted, withNamed } from './facets'
import type { Facet, View } from './viewapi'

const row = (value: string, hits: number): Row => ({
  value,
  hits,
  bytes: 10 * hits,
  hits_min: hits,
  hits_max: hits,
})

const panel = (field: string, rows: Row[]): Panel => ({
  field,
  title: field,
  distinct: { count: rows.length, exact: true, error: 0 },
  hits: 100,
  exact: true,
  error_max: 0,
  rows,
})

const facet: Facet = {
  ...panel('path', [row('/a', 50), row('/b', 30)]),
  chosen: [row('/x', 2), row('/a', 50)],
  excluded: [row('/y', 3)],
}

test('a facet stands in for the panel of its field, in its place', () => {
  const view = {
    panels: [panel('client', []), panel('path', []), panel('host', [])],
    facets: [facet],
  } as unknown as View
  expect(faceted(view).map((one) => [one.field, 'chosen' in one])).toEqual([
    ['client', false],
    ['path', true],
    ['host', false],
  ])
  expect(faceted({ panels: view.panels } as View)).toEqual(view.panels)
})

test('values that the filter names come after those with most rows', () => {
  const terms = ['path in (/x, /a, /none)', 'path != /y', 'status = 500']
  const values = (rows: Row[]) => rows.map(({ value, hits }) => [value, hits])
  expect(values(withNamed(facet.rows, facet, terms, ''))).toEqual([
    ['/a', 50],
    ['/b', 30],
    ['/y', 3],
    ['/x', 2],
    ['/none', 0],
  ])
  expect(values(withNamed([], facet, terms, 'NO'))).toEqual([['/none', 0]])
  // No value that is not listed has more than so many.
  const bounded = { ...facet, exact: false, error_max: 7 }
  expect(withNamed([], bounded, ['path = /none'], '')).toEqual([
    { value: '/none', hits: 0, bytes: 0, hits_min: 0, hits_max: 7 },
  ])
  const many = { ...facet, chosen: Array.from({ length: 20 }, (_, n) => row(`/${n}`, 1)) }
  expect(withNamed([], many, ['path in (/7, /none)'], '')).toEqual([row('/7', 1)])
  expect(withNamed(facet.rows, panel('path', facet.rows), terms, '')).toBe(facet.rows)
})
