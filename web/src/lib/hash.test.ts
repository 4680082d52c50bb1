import { expect, test } from 'vitest'
import { nowhere, readHash, readWay, savedAddress, savedPlace, writeHash, type Place } from './hash'

const view: Place = {
  page: null,
  session: 'a&b=c',
  span: { from: 1735689600, to: 1735693200.5 },
  terms: ['path ~ "^/a b+&c=%20"', 'not bot', 'agent contains "#;\\"é"'],
  stack: 'method',
  lens: { metric: 'p95', measure: 'took & b' },
  isLog: true,
  logZone: true,
  tool: 'compare',
  other: { from: -5, to: 1735693200 },
  box: { field: 'took & more', from: 0.5, to: null },
  pair: { field: 'user.full name', a: 'x & y', b: '' },
  rates: { by: 'net', limit: { per: 'second', requests: 20 } },
  metrics: { field: 'user.full name', sort: 'p95', show: ['hits', 'p95', 'trend'], measure: 'took & b' },
  columns: {
    pinned: ['a&b', 'user.full name'],
    hidden: ['c=d'],
    opened: ['#e'],
    roles: { 'a:b': 'severity', x: 'none' },
  },
  order: { field: '-a & b', descending: false },
  marks: ['0.1048576.0.7', '0.0.3.12'],
}

test('a place survives the address bar', () => {
  for (const place of [
    nowhere,
    { ...nowhere, session: 'k3v9' },
    { ...nowhere, page: 'vitals' as const },
    { ...nowhere, session: 'k3v9', order: { field: 'bytes', descending: true } },
    view,
  ]) {
    expect(readHash(writeHash(place))).toEqual(place)
  }
})

test('a box needs a span, a field and bounds in order', () => {
  const box = (more: string) => readHash(`#s=a&tool=explain&ofrom=1&oto=2&${more}`).box
  expect(box('ofield=request_time&omin=2')).toEqual({ field: 'request_time', from: 2, to: null })
  expect(box('ofield=request_time&omin=0&omax=0.5')).toEqual({ field: 'request_time', from: 0, to: 0.5 })
  for (const wrong of [
    'omin=2',
    'ofield=request_time',
    'ofield=t&omin=2&omax=2',
    'ofield=<b>&omin=1',
    'ofield=t&omin=x',
  ])
    expect(box(wrong)).toBeNull()
  expect(readHash('#s=a&ofield=t&omin=2').box).toBeNull()
})

test('what is as usual is not in it', () => {
  expect(writeHash({ ...nowhere, session: 'k3v9' })).toBe('#s=k3v9')
})

test('a span that is none is no span', () => {
  for (const hash of ['#s=a&from=2&to=1', '#s=a&from=x&to=1', '#s=a&from=1', '#s=a&from=&to='])
    expect(readHash(hash)).toEqual({ ...nowhere, session: 'a' })
})

test('what nobody could have chosen is left out', () => {
  const hash = `#s=a&f=&f=%20&stack=<b>&lens=eval&lensof=<i>&scale=cubic&tool=eval&limit=0&per=minute&by=x&zone=&ofrom=2&oto=2&of=path&a=/a&field=<i>&sort=trend&measure=&order=bytes&mark=<b>&mark=1.2`
  expect(readHash(hash)).toEqual({ ...nowhere, session: 'a' })
  expect(readHash(`#s=a&${'f=bot&'.repeat(5000)}`).terms.length).toBe(1)
})

test('columns of metrics come in their own order, hits always, and those that are none not at all', () => {
  const { metrics } = readHash('#s=a&tool=metrics&show=trend&show=errors&show=eval&sort=errors')
  expect(metrics).toEqual({ ...nowhere.metrics, sort: 'errors', show: ['hits', 'errors', 'trend'] })
  expect(readHash('#s=a&show=').metrics.show).toEqual(['hits'])
})

test('a page of the server is its own place; a way is a setting beside any', () => {
  expect(readHash('#connection')).toEqual({ ...nowhere, page: 'connection' })
  expect(['#way=put', '#s=a&way=socket', '#connection&way=auto', '#way=smoke', ''].map(readWay)).toEqual([
    'put',
    'socket',
    'auto',
    null,
    null,
  ])
})

test('a saved view is the same in another session, without marks, and without spans where these are left out', () => {
  expect(savedPlace(savedAddress(view, true), 'other')).toEqual({ ...view, session: 'other', marks: [] })
  const spanless = { ...view, span: null, other: null, box: null, session: 'other', marks: [] }
  // It compares two values, which needs no span.
  expect(savedPlace(savedAddress(view, false), 'other')).toEqual(spanless)
  const explained: Place = { ...view, tool: 'explain', pair: null }
  expect(savedPlace(savedAddress(explained, false), 'other')).toEqual({ ...spanless, tool: null, pair: null })
  expect(savedAddress({ ...nowhere, session: 'k3v9' }, true)).toBe('')
})

test('a saved view that somebody else wrote opens no other session and no page of the server', () => {
  expect(savedPlace('s=theirs&f=bot', 'ours')).toEqual({ ...nowhere, session: 'ours', terms: ['bot'] })
  expect(savedPlace('vitals&s=theirs', 'ours')).toEqual({ ...nowhere, session: 'ours' })
})
