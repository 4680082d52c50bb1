import { expect, test } from 'vitest'
import { findFilter, isPlace, marksMax, needlesOf, parts, pieces, turnedMark } from './marked'

test('a mark comes and goes, and there are not too many', () => {
  expect(turnedMark([], '0.0.0.1')).toEqual(['0.0.0.1'])
  expect(turnedMark(['0.0.0.1', '0.0.0.2'], '0.0.0.1')).toEqual(['0.0.0.2'])
  const many = Array.from({ length: marksMax }, (_, row) => `0.0.0.${row}`)
  expect(turnedMark(many, '0.0.1.0')).toBeNull()
  expect(turnedMark(many, '0.0.0.0')?.length).toBe(marksMax - 1)
})

test('only a name of a line is one', () => {
  expect(isPlace('0.1048576.3.65535')).toBe(true)
  for (const none of ['', '1.2.3', '1.2.3.4.5', 'a.b.c.d', '1.2.3.-4', '<b>.1.1.1'])
    expect(isPlace(none)).toBe(false)
})

test('a text is found in any case, whatever its signs are', () => {
  expect(findFilter('GET /a.b?c=[1]')).toBe('any ~ "(?i)GET /a\\\\.b\\\\?c=\\\\[1\\\\]"')
  expect(needlesOf([findFilter('a.b "c" \\d')]).needles).toEqual([{ text: 'a.b "c" \\d', exact: false }])
})

test('texts of a filter are those that its lines have', () => {
  const terms = [
    'any contains "time out"',
    'path contains "/a"',
    'status = 500',
    'url ~ "^/a"',
    'not any contains "x"',
  ]
  expect(needlesOf(terms)).toEqual({
    needles: [
      { text: 'time out', exact: true },
      { text: '/a', exact: true },
    ],
    terms: terms.slice(0, 2),
  })
  expect(needlesOf(['any ~ "(?i)a|b"', 'any ~ "(?i)\\\\d"']).needles).toEqual([])
})

test('every second part of a text is a match', () => {
  expect(parts('one two one', [{ text: 'ONE', exact: false }])).toEqual(['', 'one', ' two ', 'one', ''])
  expect(parts('one two one', [{ text: 'ONE', exact: true }])).toEqual(['one two one'])
  expect(
    parts('aXbYa', [
      { text: 'y', exact: false },
      { text: 'X', exact: true },
    ]),
  ).toEqual(['a', 'X', 'b', 'Y', 'a'])
  expect(parts('İstanbul bul', [{ text: 'bul', exact: false }]).join('')).toBe('İstanbul bul')
  expect(parts('text', [{ text: '', exact: false }])).toEqual(['text'])
})

test('a line is cut into what it is made of, and at its matches', () => {
  const line = '192.0.2.1 - [01/Jan/2025:08:00:00 +0000] "GET /a 1" 200 12.5'
  const said = (line: string, text: string) =>
    pieces(line, [{ text, exact: false }]).map(
      ({ text, kind, found }) => `${found ? '*' : ''}${kind ?? '-'}:${text}`,
    )
  expect(said(line, '1" 20')).toEqual([
    '-:192.0.2.1 - ',
    'time:[01/Jan/2025:08:00:00 +0000]',
    '-: ',
    'text:"GET /a ',
    '*text:1"',
    '*-: ',
    '*number:20',
    'number:0',
    '-: ',
    'number:12.5',
  ])
  expect(said('{"a b": "c\\"d", "n":-7}', 'x')).toEqual([
    '-:{',
    'key:"a b":',
    '-: ',
    'text:"c\\"d"',
    '-:, ',
    'key:"n":',
    'number:-7',
    '-:}',
  ])
  expect(said('', 'x')).toEqual([])
})
