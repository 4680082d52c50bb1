import { expect, test } from 'vitest'
import { isHeldBack } from './buffering'

const mib = 2 ** 20
const sight = { sent: 20 * mib, taken: 0, forMs: 3000, state: 'waiting' as const }

test('much has left and the server knows of nothing: something holds it back', () => {
  expect(isHeldBack(sight)).toBe(true)
  expect(isHeldBack({ ...sight, state: 'interrupted' })).toBe(true)
})

test('what kernels and the browser hold of any connection is no sign, nor a short time', () => {
  expect(isHeldBack({ ...sight, sent: 15 * mib })).toBe(false)
  expect(isHeldBack({ ...sight, forMs: 1500 })).toBe(false)
})

test('a server that reads, if slowly, is not held up by anybody else', () => {
  expect(isHeldBack({ ...sight, taken: 1 })).toBe(false)
  expect(isHeldBack({ ...sight, state: 'receiving' })).toBe(false)
  expect(isHeldBack({ ...sight, state: 'receiving', sent: 65 * mib })).toBe(true)
})
