// The filter language (crates/accesslog/src/filter) over the rows of rows.mjs, as a function of a row. Naive.

const texts =
  'path url query client net host method protocol referrer site browser os bot agent user kind flaw'.split(
    ' ',
  )
const numbers = 'status class bytes request_time upstream_time hour weekday'.split(' ')
const flags = ['bot', 'rejected', 'repaired']
const classes = ['2xx', '3xx', '4xx', '5xx', 'other']
const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const operators = ['==', '!=', '!~', '<=', '>=', '=', '~', '<', '>']
const keywords = ['and', 'or', 'not', 'in', 'contains']

export class BadFilter extends Error {
  constructor(column, message) {
    super(message)
    this.column = column
  }
}

function lex(text) {
  const tokens = []
  let at = 0
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at++
    if (at >= text.length) return [...tokens, { kind: 'end', text: 'the end', at }]
    const rest = text.slice(at)
    const quoted = /^"(?:[^"\\]|\\.)*"/.exec(rest)?.[0]
    const mark = [...operators, '(', ')', ','].find((mark) => rest.startsWith(mark))
    const word = /^[^\s()",=!~<>]+/.exec(rest)?.[0]
    const found = quoted ?? mark ?? word
    if (found === undefined)
      throw new BadFilter(
        [...text.slice(0, at)].length,
        'expected a text in double quotes, with \\" and \\\\ where it has these itself',
      )
    tokens.push(
      quoted !== undefined
        ? { kind: 'quoted', text: JSON.parse(quoted), at }
        : { kind: mark !== undefined ? 'mark' : 'word', text: found, at },
    )
    at += found.length
  }
}

export function parse(text) {
  const tokens = lex(text)
  let next = 0
  const peek = () => tokens[next]
  const fail = (what, token = peek()) => {
    const found = token.kind === 'end' ? 'the end' : JSON.stringify(text.slice(token.at, token.at + 20))
    throw new BadFilter([...text.slice(0, token.at)].length, `expected ${what}, found ${found}`)
  }
  const isWord = (word, token = peek()) => token.kind === 'word' && token.text.toLowerCase() === word
  const isMark = (mark) => peek().kind === 'mark' && peek().text === mark
  const takeIf = (is) => (is ? (next++, true) : false)

  function any() {
    const parts = [all()]
    while (takeIf(isWord('or'))) parts.push(all())
    return (row) => parts.some((part) => part(row))
  }
  function all() {
    const parts = [one()]
    while (takeIf(isWord('and'))) parts.push(one())
    return (row) => parts.every((part) => part(row))
  }
  function one() {
    if (takeIf(isWord('not'))) {
      const inner = one()
      return (row) => !inner(row)
    }
    if (!takeIf(isMark('('))) return condition()
    const inner = any()
    if (!takeIf(isMark(')'))) fail("')'")
    return inner
  }
  function condition() {
    const token = peek()
    const name = token.kind === 'word' ? token.text.toLowerCase() : ''
    if (![...texts, ...numbers, ...flags].includes(name))
      fail(`a column (${[...texts, ...numbers].join(', ')}), bot, rejected, repaired, 'not' or '('`)
    next++
    const compares = peek().kind === 'mark' && operators.includes(peek().text)
    const words = isWord('in') || isWord('contains') || (isWord('not') && isWord('in', tokens[next + 1]))
    if (flags.includes(name) && !compares && !words)
      return name === 'bot' ? (row) => row.bot !== '' : (row) => row[name]
    return numbers.includes(name) ? numeric(name) : textual(name)
  }
  const unless = (negated, test) => (negated ? (row) => !test(row) : test)
  function literal() {
    const token = peek()
    if (token.kind === 'word' && keywords.includes(token.text.toLowerCase()))
      fail('a value (a word such as this in double quotes)')
    if (token.kind !== 'word' && token.kind !== 'quoted') fail('a value: a word, or a text in double quotes')
    next++
    return token
  }
  function list(one) {
    if (!takeIf(isMark('('))) return [one()]
    const values = [one()]
    while (takeIf(isMark(','))) values.push(one())
    if (!takeIf(isMark(')'))) fail("',' or ')'")
    return values
  }
  function textValue(name) {
    const token = literal()
    if (token.kind === 'word' && token.text === '-') return (value) => value === ''
    const net = token.kind === 'word' && name === 'client' && /^([\d.]+)\/(\d+)$/.exec(token.text)
    if (net) return (value) => inNet(value, net[1], Number(net[2]))
    return (value) => value === token.text
  }
  function textual(name) {
    const negated = isWord('not')
    if (negated) next++
    if (takeIf(isWord('in'))) {
      const values = list(() => textValue(name))
      return unless(negated, (row) => values.some((is) => is(row[name])))
    }
    if (takeIf(isWord('contains'))) {
      const { text: wanted } = literal()
      return (row) => row[name] !== '' && row[name].includes(wanted)
    }
    const operator = peek().text
    if (!['=', '==', '!=', '~', '!~'].includes(operator)) fail("=, !=, ~, !~, contains, in or 'not in'")
    next++
    if (operator.endsWith('~')) {
      const token = peek()
      const { text: source } = literal()
      let pattern
      try {
        pattern = new RegExp(source)
      } catch (error) {
        throw new BadFilter([...text.slice(0, token.at)].length, error.message)
      }
      return unless(operator === '!~', (row) => row[name] !== '' && pattern.test(row[name]))
    }
    const is = textValue(name)
    return unless(operator === '!=', (row) => is(row[name]))
  }
  function numberValue(name) {
    const token = peek()
    const range = token.kind === 'word' || token.kind === 'quoted' ? numberRange(name, token.text) : null
    if (range === null) fail(`a value of ${name}, a range such as 1..2, or -`)
    next++
    return range
  }
  function numeric(name) {
    const get =
      name === 'class'
        ? (row) => (row.class === null ? null : classes.indexOf(row.class))
        : (row) => row[name]
    const meets = (range, value) =>
      value === null ? range.absent : !range.absent && value >= range.from && value <= range.to
    const negated = isWord('not')
    if (negated) next++
    if (takeIf(isWord('in'))) {
      const ranges = list(() => numberValue(name))
      return unless(negated, (row) => ranges.some((range) => meets(range, get(row))))
    }
    const operator = peek().text
    if (!['=', '==', '!=', '<', '<=', '>', '>='].includes(operator))
      fail("=, !=, <, <=, >, >=, in or 'not in'")
    next++
    const range = numberValue(name)
    if (['=', '==', '!='].includes(operator))
      return unless(operator === '!=', (row) => meets(range, get(row)))
    const compare = {
      '<': (a) => a < range.from,
      '<=': (a) => a <= range.to,
      '>': (a) => a > range.to,
      '>=': (a) => a >= range.from,
    }[operator]
    return (row) => get(row) !== null && compare(get(row))
  }

  if (peek().kind === 'end') return () => true
  const filter = any()
  if (peek().kind !== 'end') fail("'and', 'or' or the end")
  return filter
}

function inNet(client, address, bits) {
  const number = (text) => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const mask = bits === 0 ? 0 : (-1 << (32 - bits)) >>> 0
  return /^\d+(\.\d+){3}$/.test(client) && (number(client) & mask) >>> 0 === (number(address) & mask) >>> 0
}

function numberRange(name, text) {
  if (text === '-') return { absent: true }
  const between = text.split('..')
  if (between.length === 2) {
    const [a, b] = between.map((part) => single(name, part))
    return a === null || b === null || a > b ? null : { from: a, to: b }
  }
  const hundreds = name === 'status' && /^([1-9])xx$/i.exec(text)
  if (hundreds) return { from: hundreds[1] * 100, to: hundreds[1] * 100 + 99 }
  const value = single(name, text)
  return value === null ? null : { from: value, to: value }
}

function single(name, text) {
  const index = (names, first) =>
    names.includes(text.toLowerCase()) ? names.indexOf(text.toLowerCase()) + first : null
  if (name === 'class') return index(classes, 0)
  if (name === 'weekday' && index(days, 1) !== null) return index(days, 1)
  const match = /^(\d+(?:\.\d+)?)(ms|us|s|KiB|MiB|GiB|kB|MB)?$/.exec(text)
  if (!match) return null
  const scale =
    { ms: 1e-3, us: 1e-6, s: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, kB: 1e3, MB: 1e6 }[match[2]] ?? 1
  return Number(match[1]) * scale
}
