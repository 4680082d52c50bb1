import { describe, expect, test } from 'vitest'
import * as f from './filter'

test('words, marks and quoted texts', () => {
  expect(f.tokens('path ~ "a \\"b\\" and" and status>=500').map(({ kind, text }) => [kind, text])).toEqual([
    ['word', 'path'],
    ['mark', '~'],
    ['quoted', 'a "b" and'],
    ['word', 'and'],
    ['word', 'status'],
    ['mark', '>='],
    ['word', '500'],
  ])
  expect(f.tokens('path = "open').pop()?.kind).toBe('broken')
  expect(f.tokens('a ! b').map(({ kind }) => kind)).toEqual(['word', 'broken'])
})

test('clauses joined by and come apart, others stay whole', () => {
  expect(f.split(' status >= 500 AND not bot ')).toEqual(['status >= 500', 'not bot'])
  expect(f.split('path = "a and b"')).toEqual(['path = "a and b"'])
  expect(f.split('bot and (a = 1 and b = 2)')).toEqual(['bot', '(a = 1 and b = 2)'])
  expect(f.split('bot or status = 1 and rejected')).toEqual(['bot or status = 1 and rejected'])
  expect(f.split('path = "open and bot')).toEqual(['path = "open and bot'])
  expect(f.split('  ')).toEqual([])
})

test('terms are joined so that an or stays within its term', () => {
  expect(f.whereOf([])).toBe('')
  expect(f.whereOf(['bot', 'path = /a or path = /b'])).toBe('bot and (path = /a or path = /b)')
  expect(f.whereOf(['(a or b)', 'path = "x or y"'])).toBe('(a or b) and path = "x or y"')
})

test('an error of the whole is found in its term', () => {
  const terms = ['bot', 'path = /a or x', 'statos = 1']
  const where = f.whereOf(terms)
  expect(where).toBe('bot and (path = /a or x) and statos = 1')
  for (const [term, column] of [
    [0, 0],
    [1, 13],
    [2, 0],
    [2, 7],
  ] as const) {
    const at = where.indexOf(terms[term] ?? '') + column
    expect(f.locate(terms, at)).toEqual({ term, column })
  }
  expect(f.locate(terms, where.length)).toEqual({ term: 2, column: 10 })
  expect(f.locate(['path = "é😀"', 'x'], 16)).toEqual({ term: 1, column: 0 })
  expect(f.locate([], 0)).toBeNull()
})

describe('choices', () => {
  test('what a click makes is understood again', () => {
    for (const [field, value, text] of [
      ['path', '/a', 'path = /a'],
      ['path', '/a b', 'path = "/a b"'],
      ['path', '', 'path = -'],
      ['path', '-', 'path = "-"'],
      ['path', 'And', 'path = "And"'],
      ['agent', 'x "y" \\', 'agent = "x \\"y\\" \\\\"'],
      ['client', '10.0.0.0/8', 'client = "10.0.0.0/8"'],
      ['net', '10.0.0.0/24', 'net = 10.0.0.0/24'],
      ['method', 'GET', 'method = GET'],
      ['method', 'get', 'method = "get"'],
      ['status', '404', 'status = 404'],
      ['class', '5xx', 'class = 5xx'],
    ] as const) {
      expect(f.clause(field, value, false)).toBe(text)
      expect(f.choice(text)).toEqual({ field, negated: false, values: [value] })
    }
    expect(f.choice('path not in (/a, "b, c", -)')).toEqual({
      field: 'path',
      negated: true,
      values: ['/a', 'b, c', ''],
    })
    expect(f.choice('not bot')).toEqual({ field: 'bot', negated: true, values: [] })
  })

  test('what is no choice is none', () => {
    for (const term of [
      'path ~ "x"',
      'status >= 500',
      'path = /a or bot',
      'path in (a',
      'path in (a b)',
      '',
      '"a" = b',
      'not path = /a',
    ])
      expect(f.choice(term)).toBeNull()
  })

  test('a click adds, joins, takes out, and turns round', () => {
    const one = f.toggle([], 'path', '/a', false)
    expect(one).toEqual(['path = /a'])
    const two = f.toggle([...one, 'bot'], 'path', '/b', false)
    expect(two).toEqual(['path in (/a, /b)', 'bot'])
    expect(f.toggle(two, 'path', '/a', false)).toEqual(['path = /b', 'bot'])
    expect(f.toggle(one, 'path', '/a', false)).toEqual([])
    expect(f.toggle(one, 'path', '/a', true)).toEqual(['path != /a'])
    expect(f.toggle(two, 'path', '/c', true)).toEqual(['path in (/a, /b)', 'bot', 'path != /c'])
    expect(f.toggle(['path != /a'], 'path', '/b', true)).toEqual(['path not in (/a, /b)'])
  })

  test('several values at once are no single value of the panel', () => {
    expect(f.toggle(['status = 5xx'], 'status', '503', false)).toEqual(['status = 5xx', 'status = 503'])
    expect(f.toggle(['client = 10.0.0.0/8'], 'client', '10.0.0.1', true)).toEqual([
      'client = 10.0.0.0/8',
      'client != 10.0.0.1',
    ])
    expect(f.toggle(['net = 10.0.0.0/24'], 'net', '10.0.1.0/24', false)).toEqual([
      'net in (10.0.0.0/24, 10.0.1.0/24)',
    ])
  })

  test('only one value takes the place of all choices of its field', () => {
    expect(f.only(['bot', 'path in (/a, /b)', 'path != /c', 'status = 5xx'], 'path', '/b')).toEqual([
      'bot',
      'path = /b',
      'status = 5xx',
    ])
    expect(f.only(['path ~ "x"', 'path'], 'path', '/b')).toEqual(['path ~ "x"', 'path', 'path = /b'])
    const cut = `${'a'.repeat(1023)}…`
    expect(f.only(f.toggle([], 'path', cut, true), 'path', '/b')).toEqual(['path = /b'])
    expect(f.only(f.toggle([], 'path', '/b', false), 'path', cut)).toEqual([f.clause('path', cut, false)])
  })

  test('the values that terms name', () => {
    const terms = ['path in (/a, "b c", -)', 'path != /d', 'not path', 'path = /a', 'status in (404, 5xx)']
    expect(f.namedValues(terms, 'path')).toEqual({ chosen: ['/a', 'b c'], excluded: ['/d'] })
    expect(f.namedValues(terms, 'status')).toEqual({ chosen: [], excluded: [] })
  })

  test('a flag of the same name is another thing', () => {
    expect(f.toggle(['bot'], 'bot', 'Googlebot', false)).toEqual(['bot', 'bot = Googlebot'])
    expect(f.toggle(['not bot'], 'bot', 'Googlebot', true)).toEqual(['not bot', 'bot != Googlebot'])
    expect(f.toggleText(['bot', 'x'], 'bot')).toEqual(['x'])
  })

  test('a value that was cut is searched for', () => {
    const cut = `${'a'.repeat(1023)}…`
    expect(f.toggle([], 'path', cut, false)).toEqual([`path contains "${'a'.repeat(1023)}"`])
    expect(f.chosen(f.toggle([], 'path', cut, true), 'path', cut)).toBe('out')
  })

  test('a row knows whether it is chosen', () => {
    expect(f.chosen(['status in (404, 500)'], 'status', '500')).toBe('in')
    expect(f.chosen(['path != /a'], 'path', '/a')).toBe('out')
    expect(f.chosen(['path != /a'], 'url', '/a')).toBeNull()
  })
})

test('the opposite, and back', () => {
  for (const [term, opposite] of [
    ['path = /a', 'path != /a'],
    ['path in (/a, /b)', 'path not in (/a, /b)'],
    ['bot', 'not bot'],
    ['path ~ "^/a"', 'path !~ "^/a"'],
    ['status >= 500', 'not status >= 500'],
    ['bot or rejected', 'not (bot or rejected)'],
  ] as const) {
    expect(f.negate(term)).toBe(opposite)
    expect(f.negate(opposite)).toBe(term)
  }
  expect(f.negate('(a = 1) and (b = 2)')).toBe('not ((a = 1) and (b = 2))')
  expect(f.negate('not (a = 1) and (b = 2)')).toBe('not (not (a = 1) and (b = 2))')
})

test('added terms come once', () => {
  expect(f.added(['bot'], ['bot', 'x', 'x'])).toEqual(['bot', 'x'])
})
