// A stand-in for `rorqual serve` (docs/api.md) to develop the page against and for test/smoke.mjs.
// It reads combined logs for real, slowly, and counts views naively (views.mjs). node mock/server.mjs [--port N] [--rate BYTES/S] [--follow]

import { createReadStream, existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { lines as sampleLines, timedLines } from '../test/log.mjs'
import { BadFilter } from './filter.mjs'
import { known, rowOf } from './rows.mjs'
import { accept } from './socket.mjs'
import * as views from './views.mjs'

const { values: args } = parseArgs({
  options: {
    port: { type: 'string', default: '4455' },
    rate: { type: 'string' },
    plain: { type: 'boolean' },
    follow: { type: 'boolean' },
  },
})
const rateMax = args.rate ? Number(args.rate) : Infinity
const dist = path.resolve(import.meta.dirname, '../dist')
const csp =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html rorqual-worker"
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const sessionsMax = 4
const sessions = new Map()

/** A mock is slow: views count these rows only, and say so. */
const keptMax = 20000
const classes = ['2xx', '3xx', '4xx', '5xx', 'other']
const fields = {
  path: 'Path',
  client: 'Client',
  method: 'Method',
  protocol: 'Protocol',
  referrer: 'Referrer',
  browser: 'Browser',
  os: 'Operating system',
  agent: 'Agent',
}

class Log {
  lines = { total: 0, parsed: 0, repaired: 0, rejected: 0, outside: 0, blank: 0 }
  bytes = 0
  sent = 0
  seconds = new Map()
  maps = Object.fromEntries(Object.keys(fields).map((field) => [field, new Map()]))
  status = new Map()
  sizes = []
  rejects = []
  rows = []
  zone = 0
  first = Infinity
  last = -Infinity
  agentsMax = Infinity

  take(line) {
    this.lines.total++
    const row = rowOf(line, this.lines.total)
    if (this.rows.length < keptMax) this.rows.push(row)
    if (row.rejected) return this.reject(line)
    this.lines.parsed++
    this.first = Math.min(this.first, row.time)
    this.last = Math.max(this.last, row.time)
    this.zone = row.zone
    const size = row.bytes ?? 0
    this.sent += size
    if (this.sizes.length < 50000) this.sizes.push(size)
    const at = Math.floor(row.time / 60) * 60
    const bucket = this.seconds.get(at) ?? [0, 0, 0, 0, 0]
    bucket[classes.indexOf(row.class)]++
    this.seconds.set(at, bucket)
    add(this.status, String(row.status), size)
    for (const field in this.maps) if (row[field] !== '') add(this.maps[field], row[field], size)
  }

  view(question, complete) {
    const view = views.view(this.rows, question, complete, this.agentsMax)
    if (this.lines.total <= keptMax) return view
    const reason = 'a mock keeps few rows'
    return {
      ...view,
      lines: { ...view.lines, total: this.lines.total },
      kept: { rows: keptMax, all: false, reason },
    }
  }

  reject(line) {
    this.lines.rejected++
    if (this.rejects.length < 10)
      this.rejects.push({
        source: 'log',
        line: this.lines.total,
        offset: this.bytes,
        reason: 'no closing "]" after the time',
        text: line.slice(0, 500),
      })
  }

  histogram(from, to, buckets) {
    const widths = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800]
    const width = widths.find((w) => (to - from) / w <= buckets) ?? 2592000
    const out = new Map()
    for (const [at, hits] of this.seconds) {
      if (at < from || at >= to) continue
      const start = Math.floor(at / width) * width
      const sum = out.get(start) ?? [0, 0, 0, 0, 0]
      hits.forEach((h, i) => (sum[i] += h))
      out.set(start, sum)
    }
    const at = [...out.keys()].sort((a, b) => a - b)
    return {
      bucket_seconds: width,
      finest_seconds: 60,
      at,
      series: classes.map((name, i) => ({ class: name, hits: at.map((t) => out.get(t)[i]) })),
    }
  }

  report(session) {
    const timed = this.lines.parsed > 0
    const sizes = [...this.sizes].sort((a, b) => a - b)
    const p = (q) => sizes[Math.min(sizes.length - 1, Math.floor(q * sizes.length))] ?? 0
    const panels = Object.entries(fields).map(([field, title]) => {
      const exact = field !== 'client'
      const rows = top(this.maps[field], 50)
      const hits = [...this.maps[field].values()].reduce((sum, v) => sum + v.hits, 0)
      return {
        field,
        title,
        distinct: { count: this.maps[field].size, exact, error: exact ? 0 : 0.016 },
        hits,
        exact,
        error_max: exact ? 0 : 12,
        rows: rows.map((row) => ({ ...row, hits_max: row.hits + (exact ? 0 : 12) })),
      }
    })
    const took = (Date.now() - session.started) / 1000
    return {
      schema: 'rorqual.logs/1',
      complete: session.state === 'finished',
      sources: [
        { name: session.name, format: 'combined', bytes: this.bytes, lines: this.lines.total, error: null },
      ],
      lines: this.lines,
      bytes_sent: this.sent,
      time: timed ? { first: this.first, last: this.last, zone_seconds: this.zone } : null,
      histogram: timed
        ? this.histogram(
            this.first - 86400,
            this.last + 1,
            Math.max(1, Math.ceil(((this.last - this.first) / (this.last + 86401 - this.first)) * 400)),
          )
        : null,
      status: top(this.status, 50),
      clients: { count: this.maps.client.size, exact: false, error: 0.016 },
      panels,
      percentiles: {
        bytes: sizes.length
          ? {
              count: sizes.length,
              mean: this.sent / this.lines.parsed,
              p50: p(0.5),
              p90: p(0.9),
              p95: p(0.95),
              p99: p(0.99),
              max: p(1),
            }
          : null,
        request_time: null,
        upstream_time: null,
      },
      rejects: { count: this.lines.rejected, samples: this.rejects },
      repairs: { count: 0, samples: [] },
      stats: {
        seconds: took,
        bytes: this.bytes,
        bytes_per_second: this.bytes / took,
        threads: 2,
        memory_max_bytes: 2 ** 29,
        peak_bytes: process.resourceUsage().maxRSS * 1024,
      },
    }
  }
}

function add(map, value, bytes) {
  const row = map.get(value)
  if (row) {
    row.hits++
    row.bytes += bytes
  } else map.set(value, { hits: 1, bytes })
}
const top = (map, n) =>
  [...map]
    .map(([value, row]) => ({ value, ...row }))
    .sort((a, b) => b.hits - a.hits || (a.value < b.value ? -1 : 1))
    .slice(0, n)

function server() {
  const resident = process.memoryUsage().rss
  return {
    version: '0.1.0',
    memory_max_bytes: 2 ** 29,
    resident_bytes: resident,
    peak_bytes: process.resourceUsage().maxRSS * 1024,
    sessions_max: sessionsMax,
    threads: 2,
  }
}
const bare = ({ id, name, size, state, offset, rate, error, follow, fingerprint, created }) => ({
  id,
  name,
  size,
  state,
  offset,
  rate,
  error,
  follow,
  fingerprint,
  created,
  expires_seconds: 1800,
  eta_seconds: size === null || rate <= 0 || state !== 'receiving' ? null : (size - offset) / rate,
})
const liveOf = (session) => ({
  session: bare(session),
  report: session.log.lines.total ? session.log.report(session) : null,
  server: server(),
})
const isEnd = (session) => ['finished', 'cancelled', 'failed'].includes(session.state)

function make(name, size) {
  const id = Math.random().toString(36).slice(2, 10)
  const session = {
    id,
    name,
    size,
    state: 'waiting',
    offset: 0,
    rate: 0,
    error: null,
    follow: null,
    fingerprint: null,
    created: Date.now() / 1000,
    started: Date.now(),
    log: new Log(),
    tail: '',
    format: null,
  }
  sessions.set(id, session)
  return session
}

function feed(session, chunk) {
  session.state = 'receiving'
  const parts = (session.tail + chunk.toString('latin1')).split('\n')
  session.tail = parts.pop()
  if (session.offset === 0 && !session.format && !parts.slice(0, 10).some(known)) return fail(session, parts)
  for (const line of parts) {
    session.log.take(line)
    session.log.bytes += line.length + 1
  }
  session.offset += chunk.length
  const seconds = (Date.now() - session.started) / 1000
  session.rate = session.offset / Math.max(seconds, 0.05)
  return true
}

function fail(session, parts) {
  session.state = 'failed'
  session.error = {
    code: 'unknown_format',
    message: 'no known format fits the first lines',
    lines: parts.slice(0, 5),
  }
  return false
}

function finish(session) {
  if (session.tail) session.log.take(session.tail)
  session.tail = ''
  session.state = 'finished'
  session.rate = 0
}

async function sample(session) {
  const all = [...(args.plain ? sampleLines(240000) : timedLines(20000))].join('\n') + '\n'
  session.size = all.length
  const step = Math.min(1 << 20, Math.max(65536, rateMax / 10))
  for (let at = 0; at < all.length && !isEnd(session); at += step) {
    feed(session, Buffer.from(all.slice(at, at + step), 'latin1'))
    await pause(step)
  }
  if (!isEnd(session)) finish(session)
}

/**
 * A log that somebody writes, from now on: an hour of it is there, and a minute more comes every few moments. There is
 * not room for all of its agents.
 */
async function follow(session) {
  session.follow = { truncations: 0, rotations: 0, missing: false }
  session.log.agentsMax = 4
  const [all, there] = [timedLines(20_000, { days: 1 }), 20_000 / 24]
  const next = (count) => Array.from({ length: count }, () => `${all.next().value}\n`).join('')
  feed(session, Buffer.from(next(there), 'latin1'))
  for (let more = 0; more < 1000 && !isEnd(session); more++) {
    session.state = 'following'
    await new Promise((go) => setTimeout(go, 250))
    if (!isEnd(session)) feed(session, Buffer.from(next(14), 'latin1'))
  }
}

const pause = (bytes) =>
  new Promise((go) => setTimeout(go, Number.isFinite(rateMax) ? (bytes / rateMax) * 1000 : 20))
const json = (res, status, body, headers = {}) =>
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
const refuse = (res, status, code, more = {}, headers = {}) =>
  json(res, status, { error: { code, message: code.replaceAll('_', ' '), ...more } }, headers)

async function body(req) {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
}

async function create(req, res) {
  const wish = await body(req)
  if (sessions.size >= sessionsMax) return refuse(res, 503, 'sessions_full', {}, { 'Retry-After': '30' })
  const session = make(wish.sample ? 'sample.log' : wish.name, wish.sample ? null : wish.size)
  session.format = wish.format ?? null
  session.fingerprint = wish.fingerprint ?? null
  if (wish.sample) void sample(session)
  json(res, 201, bare(session))
}

async function put(req, res, session, offset) {
  if (session.state === 'finished') return refuse(res, 409, 'finished')
  if (session.state === 'receiving') return refuse(res, 409, 'busy')
  if (offset !== session.offset) return refuse(res, 409, 'offset_mismatch', { offset: session.offset })
  session.state = 'receiving'
  session.started = Date.now() - (session.offset ? 1000 : 0)
  try {
    for await (const chunk of req) {
      if (isEnd(session)) break
      feed(session, chunk)
      if (Number.isFinite(rateMax)) await pause(chunk.length)
    }
  } catch {
    if (!isEnd(session)) session.state = 'interrupted'
    return
  }
  if (session.state === 'failed') return json(res, 422, { error: session.error })
  if (!isEnd(session)) finish(session)
  json(res, 200, bare(session))
}

/** An upload as a WebSocket, or a test of the connection where there is no session. */
function upgrade(req, socket) {
  const url = new URL(req.url, 'http://localhost')
  const id = /^\/api\/sessions\/([^/]+)\/socket$/.exec(url.pathname)?.[1]
  const session = sessions.get(id)
  if (!session && url.pathname !== '/api/discard/socket') return socket.destroy()
  let taken = Number(url.searchParams.get('offset') ?? 0)
  const begun = Date.now()
  const wire = accept(req, socket, (kind, payload) => {
    // In order it waits for the rest; a browser that leaves a page says 1001.
    if (kind === 8) return leave(session, wire, payload.readUInt16BE() === 1000 ? 'waiting' : 'interrupted')
    if (session && isEnd(session)) return fellOut(wire, session)
    if (kind === 2) {
      if (session && !feed(session, payload)) return fellOut(wire, session)
      taken += payload.length
      wire.say({ type: 'taken', offset: taken })
      if (Number.isFinite(rateMax)) {
        socket.pause()
        void pause(payload.length).then(() => socket.resume())
      }
    }
    const whole = kind === 1 || (session && session.offset === session.size)
    if (!whole) return
    if (session) finish(session)
    wire.say({
      type: 'done',
      ...(session ? { session: bare(session) } : { bytes: taken, seconds: (Date.now() - begun) / 1000 }),
    })
    wire.close(1000)
  })
  socket.on('close', () => session?.state === 'receiving' && (session.state = 'interrupted'))
  if (session && (session.state === 'receiving' || taken !== session.offset)) {
    const error = { code: session.state === 'receiving' ? 'busy' : 'offset_mismatch', offset: session.offset }
    wire.say({ type: 'error', error: { message: error.code, ...error } })
    return wire.close(4409)
  }
  if (session) session.state = 'receiving'
  wire.say({ type: 'ready', offset: taken, window_bytes: 8 << 20 })
}

function leave(session, wire, state) {
  if (session && !isEnd(session)) session.state = state
  wire.close(1000)
}

function fellOut(wire, session) {
  const error = session.error ?? { code: session.state, message: session.state }
  wire.say({ type: 'error', error })
  wire.close(4422)
}

async function discard(req, res) {
  const begun = Date.now()
  let bytes = 0
  for await (const chunk of req) bytes += chunk.length
  json(res, 200, { bytes, seconds: (Date.now() - begun) / 1000 })
}

function vitals() {
  const all = [...sessions.values()]
  const states = ['waiting', 'receiving', 'following', 'interrupted', 'finished', 'cancelled', 'failed']
  const sum = (value) => all.reduce((sum, session) => sum + value(session), 0)
  const running = all.filter((session) => !isEnd(session)).length
  return {
    ...server(),
    uptime_seconds: process.uptime(),
    open_files: null,
    threads: null,
    sessions: Object.fromEntries(
      states.map((state) => [state, all.filter((session) => session.state === state).length]),
    ),
    sessions_made: all.length,
    received_bytes: sum(({ offset }) => offset),
    bytes_per_second: sum(({ state, rate }) => (state === 'receiving' ? rate : 0)),
    lines_parsed: sum(({ log }) => log.lines.parsed),
    lines_repaired: 0,
    lines_rejected: sum(({ log }) => log.lines.rejected),
    spilled_bytes: 0,
    pool_bytes: running * 2 ** 23,
    pool_lent_bytes: running * 2 ** 20,
    connections: { known: 3, known_max: 32, strangers: 0 },
    exports: { taken: 0, places: 4 },
    renders: { taken: 0, places: 0 },
  }
}

function events(req, res, session) {
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  let before = ''
  const timer = setInterval(() => {
    const now = `${session.state} ${session.offset}`
    if (now !== before) res.write(`event: live\ndata: ${JSON.stringify(liveOf(session))}\n\n`)
    before = now
    if (!isEnd(session)) return
    clearInterval(timer)
    res.end('event: end\ndata: {}\n\n')
  }, 100)
  req.on('close', () => clearInterval(timer))
}

function statics(url, res) {
  const file = path.join(dist, url.pathname === '/' ? 'index.html' : path.normalize(url.pathname))
  if (!file.startsWith(dist) || !existsSync(file)) return res.writeHead(404).end()
  const headers = {
    'Content-Type': types[path.extname(file)] ?? 'application/octet-stream',
    'Content-Security-Policy': csp,
    'X-Content-Type-Options': 'nosniff',
  }
  if (file.endsWith('.html')) return res.writeHead(200, headers).end(readFileSync(file))
  res.writeHead(200, headers)
  createReadStream(file).pipe(res)
}

/** Newest question of a page by its id: the older ones are refused when they come to their turn. */
const pages = new Map()

async function askView(req, res, session) {
  const question = await body(req)
  const { turn } = question
  pages.set(question.page, Math.max(turn, pages.get(question.page) ?? 0))
  await new Promise((go) => setTimeout(go, 5))
  if (pages.get(question.page) !== turn) return refuse(res, 409, 'superseded')
  json(res, 200, session.log.view(question, session.state === 'finished'))
}

const download = (res, type, name, text) =>
  res
    .writeHead(200, { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` })
    .end(text)

async function explore(req, res, session, verb, params) {
  const { rows, agentsMax } = session.log
  const wish = req.method === 'POST' ? await body(req) : Object.fromEntries(params)
  for (const edge of ['from', 'to']) if (wish[edge] != null) wish[edge] = Number(wish[edge])
  const chosen = () => views.select(rows, wish)
  switch (verb) {
    case 'panel':
      return json(res, 200, views.panel(chosen(), wish))
    case 'rows':
      return json(res, 200, views.page(rows, wish))
    case 'compare':
      return json(res, 200, views.compare(rows, wish, agentsMax))
    case 'explain':
      return json(res, 200, views.explain(rows, wish))
    case 'rates':
      return json(res, 200, views.rates(rows, wish))
    case 'format':
      return json(res, 200, tryFormat(wish))
    case 'panel.csv':
      return download(res, 'text/csv', `${wish.field}.csv`, views.panelCsv(chosen(), wish.field))
    case 'export':
      return download(
        res,
        'application/octet-stream',
        `lines.${wish.format}`,
        views.exportRows(chosen(), wish.format),
      )
    case 'report.html':
      return download(
        res,
        'text/html',
        'report.html',
        `<!doctype html><title>report</title>${chosen().length}`,
      )
  }
}

const tryFormat = ({ format, lines }) => ({
  format,
  rows: lines.map((line) => {
    const first = /^(\S+) (.*)$/.exec(line)
    return /%h|remote_addr/.test(format) && first
      ? { fields: { client: first[1], rest: first[2] }, flaw: null }
      : { fields: null, flaw: 'the line has another shape' }
  }),
})

const verbs = ['panel', 'rows', 'compare', 'explain', 'rates', 'format', 'panel.csv', 'export', 'report.html']

async function answer(req, res) {
  const url = new URL(req.url, 'http://localhost')
  const [, root, kind, id, verb] = url.pathname.split('/')
  if (root !== 'api') return statics(url, res)
  if (kind === 'server') return json(res, 200, server())
  if (kind === 'vitals') return json(res, 200, vitals())
  if (kind === 'discard') return discard(req, res)
  if (!id)
    return req.method === 'POST'
      ? create(req, res)
      : json(res, 200, { sessions: [...sessions.values()].reverse().map(bare) })
  const session = sessions.get(id)
  if (!session) return refuse(res, 404, 'no_session')
  const q = (name) => Number(url.searchParams.get(name))
  if (verb === 'data') return put(req, res, session, q('offset'))
  if (verb === 'view') return await askView(req, res, session)
  if (verbs.includes(verb)) return await explore(req, res, session, verb, url.searchParams)
  if (verb === 'live') return events(req, res, session)
  if (verb === 'cancel') {
    if (!isEnd(session)) session.state = 'cancelled'
    return json(res, 200, bare(session))
  }
  if (req.method === 'DELETE') {
    session.state = isEnd(session) ? session.state : 'cancelled'
    sessions.delete(id)
    return res.writeHead(204).end()
  }
  json(res, 200, liveOf(session))
}

function failed(res, error) {
  if (error instanceof BadFilter)
    return refuse(res, 400, 'bad_filter', { column: error.column, message: error.message })
  console.error(error)
  res.destroy()
}

if (args.follow) void follow(make('access.log', null))
http
  .createServer((req, res) => void answer(req, res).catch((error) => failed(res, error)))
  .on('upgrade', upgrade)
  .listen(Number(args.port), '127.0.0.1', function () {
    console.log(`http://127.0.0.1:${this.address().port}/`)
  })
