import { expect, test } from 'vitest'
import * as f from './format'

test('sizes keep three figures and the right unit at the edges', () => {
  expect([0, 999, 1023, 1024, 1536, 812 * 1024 ** 2, 1610612736].map(f.bytes)).toEqual([
    '0 B',
    '999 B',
    '1023 B',
    '1.00 KiB',
    '1.50 KiB',
    '812 MiB',
    '1.50 GiB',
  ])
  expect(f.bytes(1024 ** 3 - 1)).toBe('1.00 GiB')
  expect(f.bytes(5 * 1024 ** 5)).toBe('5120 TiB')
})

test('rates are decimal', () => {
  expect([0, 412e6, 1.4e9, 999_999_999].map(f.rate)).toEqual(['0 B/s', '412 MB/s', '1.40 GB/s', '1.00 GB/s'])
})

test('counts and plurals', () => {
  expect(f.count(6794000)).toBe('6,794,000')
  expect([f.plural(0, 'line'), f.plural(1, 'line'), f.plural(1504, 'line')]).toEqual([
    '0 lines',
    '1 line',
    '1,504 lines',
  ])
})

test('shares never round something to nothing, nor a part to the whole', () => {
  expect([
    f.share(0, 9),
    f.share(1, 1e7),
    f.share(4, 1e4),
    f.share(949, 1e6),
    f.share(1, 8),
    f.share(999999, 1e6),
    f.share(9, 9),
    f.share(3, 0),
  ]).toEqual(['0 %', '< 0.001 %', '0.04 %', '0.09 %', '12.5 %', '> 99.9 %', '100 %', '0 %'])
})

test('progress says 100 only at the end', () => {
  expect([f.percent(0, 10), f.percent(9999, 10000), f.percent(10, 10), f.percent(5, null)]).toEqual([
    '0 %',
    '99 %',
    '100 %',
    null,
  ])
})

test('durations and latencies', () => {
  expect([1.4, 38.2, 125, 11520, 352800].map(f.duration)).toEqual([
    '1.4 s',
    '38 s',
    '2 min 05 s',
    '3 h 12 min',
    '4 d 2 h',
  ])
  expect([0.0008, 0.012, 0.5, 1.2, 300].map(f.latency)).toEqual([
    '0.8 ms',
    '12 ms',
    '500 ms',
    '1.20 s',
    '5 min 00 s',
  ])
})

test('log text cannot hide or turn round', () => {
  expect(f.visible('a\tb\n\u202egpj.exe\u0000')).toBe('a␉b␊\\u202egpj.exe␀')
  expect(f.visible('<b>naïve</b> 日本')).toBe('<b>naïve</b> 日本')
})

test('of a long path the end is shown, in whole folders where they fit', () => {
  expect(f.pathEnd('web1/access.log')).toBe('web1/access.log')
  expect(f.pathEnd('/var/log/nginx/access.log.1')).toBe('…/nginx/access.log.1')
  const long = f.pathEnd('/srv/logs/production-web-1.access.log.20')
  expect(long).toBe('…n-web-1.access.log.20')
  expect(long).toHaveLength(22)
})
