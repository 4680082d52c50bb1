import { expect, test } from 'vitest'
import { explained } from './tools.svelte'

const all = { from: null, to: null, where: '' }
const view = { from: 100, to: 200, where: 'bot' }

test('a span within the view is set against the rest of the view', () => {
  const selected = { from: 120, to: 140, where: 'bot' }
  expect(explained(view, selected)).toEqual({ ...view, select: selected })
  expect(explained(all, selected)).toEqual({ ...all, select: selected })
})

test('a span beside the view against all times', () => {
  const selected = { from: 300, to: 400, where: 'bot' }
  expect(explained(view, selected)).toEqual({ ...all, where: 'bot', select: selected })
})

test('without a span the view against the rest of the log; everything against nothing is no question', () => {
  expect(explained(view, null)).toEqual({ ...all, select: view })
  expect(explained(all, null)).toBeNull()
})

test('a box in the view is set against the rest of the view, whatever its bounds are', () => {
  const box = { from: 120, to: 140, where: 'bot and request_time >= 2' }
  expect(explained(view, box)).toEqual({ ...view, select: box })
})
