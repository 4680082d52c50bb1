import { expect, test } from 'vitest'
import { begin, canRedo, canUndo, pushed, replaced, went } from './timeline'

test('undo goes back to where the session was opened, redo to where it was undone', () => {
  const opened = pushed(begin, true)
  expect([canUndo(opened), canRedo(opened)]).toEqual([false, false])
  const two = pushed(pushed(opened, false), false)
  expect(canUndo(two)).toBe(true)
  const undone = went(two, { depth: 2, base: 1 })
  expect([canUndo(undone), canRedo(undone)]).toEqual([true, true])
  const first = went(undone, { depth: 1, base: 1 })
  expect([canUndo(first), canRedo(first)]).toEqual([false, true])
})

test('a new step drops what was undone', () => {
  const undone = went(pushed(pushed(begin, true), false), { depth: 1, base: 1 })
  const anew = pushed(undone, false)
  expect([anew.depth, canRedo(anew)]).toEqual([2, false])
})

test('Forward after a reload is known by its mark', () => {
  const reloaded = went(begin, { depth: 3, base: 1 })
  expect([canUndo(reloaded), canRedo(reloaded)]).toEqual([true, false])
})

test('an address typed is a beginning', () => {
  expect(canUndo(went(pushed(pushed(begin, true), false), null))).toBe(false)
  expect(canUndo(replaced(pushed(pushed(begin, true), false), true))).toBe(false)
})
