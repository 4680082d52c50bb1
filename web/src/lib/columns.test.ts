import { expect, test } from 'vitest'
import {
  cellText,
  columnsOf,
  isSortable,
  jsonOf,
  nextOrder,
  orderText,
  press,
  pressTitle,
  spanAround,
} from './columns'

const row = {
  row: 1,
  time: 1741341725,
  flaw: null,
  line: '…',
  place: '0.0.0.1',
  client: '192.0.2.1',
  url: '/a b\u0007',
  bytes: 2048,
  user: '',
  request_time: null,
}

test('cells say what there is', () => {
  expect(cellText(row, 'time', 3600)).toBe('07 Mar 2025 11:02:05')
  expect(cellText(row, 'bytes', 0)).toBe('2.00 KiB')
  expect(cellText(row, 'url', 0)).toBe('/a b␇')
  expect([cellText(row, 'user', 0), cellText(row, 'request_time', 0), cellText(row, 'host', 0)]).toEqual([
    '–',
    '–',
    '–',
  ])
})

test('a press filters by what the cell says', () => {
  expect(press(row, 'client')).toEqual({ term: { field: 'client', value: '192.0.2.1' } })
  expect(press(row, 'time')).toEqual({ span: { from: 1741341720, to: 1741341780 } })
  expect(press(row, 'bytes')).toEqual({ text: 'bytes >= 2048' })
  expect(press(row, 'request_time')).toEqual({ text: 'request_time = -' })
  expect(press(row, 'host')).toBeNull()
  expect(pressTitle(row, 'user')).toContain('user = -')
})

test('a narrow screen begins with what tells a line', () => {
  const fields = ['time', 'client', 'url', 'status', 'bytes']
  const order = (narrow: boolean) => columnsOf(fields, narrow).map(({ field }) => field)
  expect(order(false)).toEqual(['time', 'client', 'url', 'status', 'bytes'])
  expect(order(true)).toEqual(['time', 'status', 'url', 'client', 'bytes'])
})

test('a line is copied as what it has', () => {
  expect(JSON.parse(jsonOf(row))).toEqual({
    time: '2025-03-07T10:02:05Z',
    client: '192.0.2.1',
    url: '/a b\u0007',
    bytes: 2048,
    line: '…',
  })
})

test('a head sorts the largest first, the smallest first, and not at all', () => {
  const down = nextOrder({ field: 'status', descending: true }, 'bytes')
  expect(down).toEqual({ field: 'bytes', descending: true })
  expect(nextOrder(down, 'bytes')).toEqual({ field: 'bytes', descending: false })
  expect(nextOrder({ field: 'bytes', descending: false }, 'bytes')).toBeNull()
  expect(orderText({ field: 'request_time', descending: true })).toBe('by took, largest first')
  expect(orderText({ field: 'time', descending: false })).toBe('by time, earliest first')
  expect(orderText({ field: 'url', descending: true })).toBe('by path, Z to A')
  expect(['time', 'url', 'status', 'hour'].map(isSortable)).toEqual([true, true, true, false])
})

test('around a line are thirty seconds on both sides of its own', () => {
  expect(spanAround(1741341725.9)).toEqual({ from: 1741341695, to: 1741341756 })
})
