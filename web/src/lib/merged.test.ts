import { expect, test } from 'vitest'
import type { Panel } from './api'
import { merged } from './finder.svelte'

const row = (value: string) => ({ value, hits: 1, bytes: 0 })
const panel = (...values: string[]): Panel => ({
  field: 'path',
  title: 'Path',
  distinct: { count: values.length, exact: true, error: 0 },
  hits: 10,
  exact: true,
  error_max: 0,
  rows: values.map(row),
})

test('until its own answer is there, an opened panel shows the rows of the view', () => {
  expect(merged(panel('/a', '/b'), null, '').rows).toHaveLength(2)
  expect(merged(panel('/api', '/b'), null, 'AP').rows).toEqual([row('/api')])
})

test('its answer takes their place, but shares stay those of the view', () => {
  const page = { ...panel('/x', '/y', '/z'), hits: 3, found: 2 }
  const shown = merged(panel('/a'), page, '')
  expect(shown.rows).toHaveLength(3)
  expect(shown.panel.distinct.count).toBe(3)
  expect(shown.panel.hits).toBe(10)
  expect(merged(panel('/a'), page, 'x').panel.distinct.count).toBe(2)
})
