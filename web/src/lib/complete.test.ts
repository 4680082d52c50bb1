import { expect, test } from 'vitest'
import { complete, take } from './complete'

const values = (field: string) => (field === 'path' ? ['/a b', '/index.html', '-', ''] : [])
const offered = (text: string, caret = text.length) =>
  complete(text, caret, values).options.map(({ text }) => text)

test('a field first', () => {
  expect(offered('')).toContain('status')
  expect(offered('sta')).toEqual(['status'])
  expect(offered('bot and pa')[0]).toBe('path')
  expect(offered('not (refe')[0]).toBe('referrer')
})

test('then a comparison that the field has', () => {
  expect(offered('path ')).toContain('contains')
  expect(offered('status ')).toContain('>=')
  expect(offered('status ')).not.toContain('contains')
})

test('then its values, as they are written', () => {
  expect(offered('path = ')).toEqual(['"/a b"', '/index.html', '"-"', '-'])
  expect(offered('path = /in')).toEqual(['/index.html'])
  expect(offered('path = "/a')).toEqual(['"/a b"'])
  expect(offered('path in (/x, ')).toContain('/index.html')
})

test('then what joins clauses', () => {
  expect(offered('path = /a ')).toEqual(['and', 'or'])
  expect(offered('path = and.html ')).toEqual(['and', 'or'])
  expect(offered('rejected ')).toEqual(['and', 'or'])
})

test('what is complete needs no list', () => {
  expect(offered('rejected')).toEqual([])
  expect(offered('path = /nothing-like-it')).toEqual([])
})

test('an option takes the place of what was typed', () => {
  const text = 'bot and sta = 4'
  const completion = complete(text, 11, values)
  expect(take(text, completion, { text: 'status', about: '' })).toEqual({
    text: 'bot and status = 4',
    caret: 15,
  })
})
