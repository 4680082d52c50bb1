// What a server answers about a view, computed over all rows of an array each time.

import { parse } from './filter.mjs'

const titles = {
  path: 'Path',
  url: 'Path with query',
  client: 'Client',
  net: 'Network',
  user: 'User',
  host: 'Host',
  method: 'Method',
  status: 'Status',
  class: 'Status class',
  protocol: 'Protocol',
  referrer: 'Referrer',
  site: 'Referring site',
  agent: 'Agent',
  browser: 'Browser',
  os: 'Operating system',
  bot: 'Bot',
  kind: 'Content',
  flaw: 'Flaw',
}
const widths = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800,
]
const edges = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30]
const seriesMax = 7

export function select(rows, { from, to, where }) {
  const meets = parse(where ?? '')
  const inTime = (row) =>
    (from == null && to == null) ||
    (row.time !== null && (from == null || row.time >= from) && (to == null || row.time < to))
  return rows.filter((row) => inTime(row) && meets(row))
}

const textOf = (row, field) => (row[field] === null ? '' : String(row[field]))
const sum = (list, of) => list.reduce((total, one) => total + of(one), 0)
const totalOf = (rows) => ({ hits: rows.length, bytes: sum(rows, (row) => row.bytes ?? 0) })

function tally(rows, field) {
  const map = new Map()
  for (const row of rows) {
    const value = textOf(row, field)
    if (value === '' && field !== 'bot') continue
    const entry = map.get(value) ?? { value, hits: 0, bytes: 0 }
    entry.hits++
    entry.bytes += row.bytes ?? 0
    map.set(value, entry)
  }
  if (field === 'bot') map.delete('')
  return [...map.values()].sort((a, b) => b.hits - a.hits || (a.value < b.value ? -1 : 1))
}

export function panel(rows, { field, search = '', offset = 0, limit = 50 }) {
  const all = tally(rows, field)
  const left = all.filter(({ value }) => value.toLowerCase().includes(search.toLowerCase()))
  const exact = field !== 'agent'
  return {
    field,
    title: titles[field] ?? field,
    distinct: { count: all.length, exact, error: exact ? 0 : 0.016 },
    found: left.length,
    hits: sum(all, ({ hits }) => hits),
    exact,
    error_max: exact ? 0 : 12,
    rows: left
      .slice(offset, offset + limit)
      .map((row) => ({ ...row, hits_max: row.hits + (exact ? 0 : 12) })),
  }
}

function histogram(rows, { from, to, stack = 'class', buckets = 400 }) {
  const timed = rows.filter((row) => row.time !== null && row.time !== undefined)
  if (timed.length === 0) return null
  const first = from ?? timed.reduce((least, row) => Math.min(least, row.time), Infinity)
  const last = to ?? timed.reduce((most, row) => Math.max(most, row.time), -Infinity) + 1
  const width = Math.max(60, widths.find((w) => (last - first) / w <= buckets) ?? 2592000)
  const halves = stack === 'bot'
  const names = halves
    ? ['bot', 'human']
    : tally(timed, stack)
        .slice(0, seriesMax)
        .map(({ value }) => value)
  const starts = new Map()
  for (const row of timed) {
    const at = Math.floor(row.time / width) * width
    const value = halves ? (row.bot === '' ? 'human' : 'bot') : textOf(row, stack)
    const index = names.indexOf(value)
    const of = starts.get(at) ?? new Array(names.length + 1).fill(0)
    of[index < 0 ? names.length : index]++
    starts.set(at, of)
  }
  const at = [...starts.keys()].sort((a, b) => a - b)
  const series = [...names, null].map((value, index) => ({
    value,
    hits: at.map((t) => starts.get(t)[index]),
  }))
  const shown = series.filter(({ value, hits }) => value !== null || hits.some((hit) => hit > 0))
  return { bucket_seconds: width, finest_seconds: 60, at, stack, series: shown }
}

function latency(rows, at, width) {
  if (!rows.some((row) => row.request_time !== null && row.request_time !== undefined)) return null
  const hits = at.map(() => edges.map(() => 0))
  for (const row of rows) {
    if (row.time == null || row.request_time == null) continue
    const bucket = at.indexOf(Math.floor(row.time / width) * width)
    const step = edges.findLastIndex((edge) => row.request_time >= edge)
    hits[bucket][step]++
  }
  return { at, edges, hits }
}

function percentiles(rows, field) {
  const values = rows
    .map((row) => row[field])
    .filter((value) => value != null)
    .sort((a, b) => a - b)
  if (values.length === 0) return null
  const p = (q) => values[Math.min(values.length - 1, Math.floor(q * values.length))]
  const mean = sum(values, (value) => value) / values.length
  return { count: values.length, mean, p50: p(0.5), p90: p(0.9), p95: p(0.95), p99: p(0.99), max: p(1) }
}

function week(rows) {
  const hits = Array.from({ length: 7 }, () => new Array(24).fill(0))
  for (const row of rows) if (row.time != null) hits[row.weekday - 1][row.hour]++
  return { hits }
}

/** Agents beyond the first `agentsMax` have no room. */
const roomOf = (all, agentsMax) => {
  const agents = new Set(all.map(({ agent }) => agent).filter(Boolean))
  return { room: new Set([...agents].slice(0, agentsMax).concat('')), exact: agents.size <= agentsMax }
}

/** What an answer says of its exactness. */
export function marks(all, agentsMax) {
  const { exact } = roomOf(all, agentsMax)
  const hint = `agents beyond the first ${agentsMax} are counted together as …; --memory 2GiB has room for them`
  return { exact, hint: exact ? null : hint }
}

export function view(all, question, complete, agentsMax = Infinity) {
  const begun = performance.now()
  const rows = select(all, question)
  const parsed = rows.filter((row) => !row.rejected)
  const times = parsed.map((row) => row.time)
  const bars = histogram(rows, question)
  const { room } = roomOf(all, agentsMax)
  const known = parsed.filter(({ agent }) => room.has(agent))
  return {
    ...marks(all, agentsMax),
    schema: 'rorqual.view/1',
    complete,
    kept: { rows: all.length, all: true, reason: null },
    lines: {
      total: all.length,
      matching: rows.length,
      parsed: parsed.length,
      repaired: 0,
      rejected: rows.length - parsed.length,
    },
    bytes_sent: totalOf(rows).bytes,
    time: times.length
      ? {
          first: times.reduce((a, b) => Math.min(a, b)),
          last: times.reduce((a, b) => Math.max(a, b)),
          zone_seconds: parsed[0].zone,
        }
      : null,
    histogram: bars,
    panels: Object.keys(titles)
      .filter((field) => all.some((row) => textOf(row, field) !== ''))
      .map((field) => panel(rows, { field, limit: question.top ?? 10 })),
    humans: totalOf(known.filter((row) => row.bot === '')),
    bots: totalOf(known.filter((row) => row.bot !== '')),
    unknown: totalOf(parsed.filter(({ agent }) => !room.has(agent))),
    week: week(rows),
    percentiles: {
      bytes: percentiles(parsed, 'bytes'),
      request_time: percentiles(parsed, 'request_time'),
      upstream_time: percentiles(parsed, 'upstream_time'),
    },
    latency: bars && latency(parsed, bars.at, bars.bucket_seconds),
    seconds: (performance.now() - begun) / 1000,
  }
}

export function page(all, { offset = 0, limit = 100, from_end = false, ...question }) {
  const rows = select(all, question)
  const ordered = from_end ? [...rows].reverse() : rows
  const shown = ordered.slice(offset, offset + limit)
  return {
    matching: rows.length,
    offset,
    rows: shown.map((row) => ({ ...row, zone: undefined, flaw: row.flaw || null })),
  }
}

export function compare(all, { a, b, top = 10 }, agentsMax = Infinity) {
  const [left, right] = [select(all, a), select(all, b)]
  const part = (row, rows) => ({
    hits: row?.hits ?? 0,
    bytes: row?.bytes ?? 0,
    share: rows.length ? (row?.hits ?? 0) / rows.length : 0,
  })
  const panels = ['path', 'status', 'client', 'net', 'site', 'agent', 'bot', 'method'].map((field) => {
    const [of, against] = [left, right].map(
      (rows) => new Map(tally(rows, field).map((row) => [row.value, row])),
    )
    const rows = [...new Set([...of.keys(), ...against.keys()])].map((value) => {
      return { value, a: part(of.get(value), left), b: part(against.get(value), right) }
    })
    rows.sort((x, y) => Math.abs(y.a.share - y.b.share) - Math.abs(x.a.share - x.b.share))
    return {
      field,
      title: titles[field],
      rows: rows.filter((row) => row.a.hits + row.b.hits > 4).slice(0, top),
    }
  })
  const found = panels.filter(({ rows }) => rows.length > 0)
  return { ...marks(all, agentsMax), a: totalOf(left), b: totalOf(right), panels: found }
}

function g(a, b, c, d) {
  const n = a + b + c + d
  const term = (o, e) => (o > 0 ? o * Math.log(o / e) : 0)
  const [r1, r2, c1, c2] = [a + b, c + d, a + c, b + d]
  return (
    2 * (term(a, (r1 * c1) / n) + term(b, (r1 * c2) / n) + term(c, (r2 * c1) / n) + term(d, (r2 * c2) / n))
  )
}

export function explain(all, { select: chosen, limit = 20, ...question }) {
  const begun = performance.now()
  const inside = select(all, chosen)
  const ids = new Set(inside.map((row) => row.row))
  const outside = select(all, question).filter((row) => !ids.has(row.row))
  const results = []
  let tried = 0
  for (const field of [
    'path',
    'status',
    'client',
    'net',
    'method',
    'site',
    'agent',
    'bot',
    'kind',
    'protocol',
  ]) {
    const out = new Map(tally(outside, field).map((row) => [row.value, row.hits]))
    for (const { value, hits } of tally(inside, field)) {
      tried++
      const y = out.get(value) ?? 0
      const [shareIn, shareOut] = [hits / inside.length, outside.length ? y / outside.length : 0]
      const score = g(hits, inside.length - hits, y, outside.length - y)
      if (hits < 5 || shareIn < 2 * shareOut || score < 20) continue
      results.push({
        terms: [{ field, value }],
        where: `${field} = ${JSON.stringify(value)}`,
        inside: hits,
        outside: y,
        share_inside: shareIn,
        share_outside: shareOut,
        ratio: shareOut > 0 ? shareIn / shareOut : null,
        g: score,
        q: Math.min(1, Math.exp(-score / 2) * tried),
        companions: [],
      })
    }
  }
  results.sort((a, b) => b.g - a.g)
  return {
    inside: inside.length,
    outside: outside.length,
    statistic: 'G-test',
    tried,
    seconds: (performance.now() - begun) / 1000,
    rows: results.slice(0, limit),
  }
}

export function rates(
  all,
  { by = 'client', limit_per_minute: perMinute, limit_per_second: perSecond, top = 20, ...question },
) {
  const begun = performance.now()
  const groups = new Map()
  for (const row of select(all, question)) {
    if (row.time == null) continue
    const times = groups.get(row[by]) ?? []
    times.push(row.time)
    groups.set(row[by], times)
  }
  const peak = (times, width) => {
    const counts = new Map()
    for (const time of times)
      counts.set(Math.floor(time / width) * width, (counts.get(Math.floor(time / width) * width) ?? 0) + 1)
    return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0]).concat([counts])
  }
  const rows = [...groups].map(([value, times]) => {
    const [secondAt, second, seconds] = peak(times, 1)
    const [minuteAt, minute, minutes] = peak(times, 60)
    const over = (counts, limit) => sum([...counts.values()], (count) => Math.max(0, count - limit))
    const blocked =
      perMinute != null ? over(minutes, perMinute) : perSecond != null ? over(seconds, perSecond) : null
    return {
      value,
      hits: times.length,
      peak_second: second,
      peak_second_at: secondAt,
      peak_minute: minute,
      peak_minute_at: minuteAt,
      blocked,
    }
  })
  rows.sort((a, b) => (b.blocked ?? 0) - (a.blocked ?? 0) || b.peak_minute - a.peak_minute || b.hits - a.hits)
  const limited = perMinute != null || perSecond != null
  const hit = rows.filter((row) => row.blocked > 0)
  return {
    seconds: (performance.now() - begun) / 1000,
    rows: rows.slice(0, top),
    blocked: limited ? { requests: sum(hit, (row) => row.blocked), values: hit.length } : null,
  }
}

const neutral = (value) => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)
const csvCell = (value) => {
  const text =
    value === null || value === undefined
      ? ''
      : typeof value === 'number'
        ? String(value)
        : neutral(String(value))
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
const csvLines = (header, rows) =>
  [header, ...rows].map((cells) => cells.map(csvCell).join(',') + '\r\n').join('')

export const panelCsv = (rows, field) =>
  csvLines(
    [field, 'hits', 'bytes'],
    tally(rows, field).map(({ value, hits, bytes }) => [value, hits, bytes]),
  )

const exported = 'time client method url status bytes referrer agent request_time upstream_time flaw'.split(
  ' ',
)

export function exportRows(rows, format) {
  if (format === 'ndjson')
    return rows
      .map((row) => JSON.stringify(Object.fromEntries(exported.map((field) => [field, row[field]]))) + '\n')
      .join('')
  if (format === 'parquet') return 'PAR1 (not from a mock) PAR1'
  return csvLines(
    exported,
    rows.map((row) => exported.map((field) => row[field])),
  )
}
