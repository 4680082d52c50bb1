// Lines of a combined log, with or without times, as rows: the fields of docs/api.md and what follows from them.
// The tests count in them what the page must show.

const combined =
  /^(\S+) \S+ (\S+) \[(\d\d)\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})\] "(\S+) (\S+) (HTTP\/[\d.]+)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"(?: ([\d.]+|-)(?: ([\d.]+|-))?)?$/
const open = /^(\S+) \S+ (\S+) \[(\d\d)\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})\] "/
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const kinds = {
  page: /\.(html?|php)$/,
  style: /\.css$/,
  script: /\.m?js$/,
  image: /\.(png|jpe?g|gif|svg|ico|webp)$/,
  font: /\.woff2?$/,
  document: /\.(pdf|txt|md)$/,
  archive: /\.(zip|gz|zst)$/,
  data: /\.(json|xml|csv|atom|rss)$/,
}

/** Each agent of test/log.mjs, told by eye: what the page must show does not depend on any program's lists. */
const person = (browser, os) => ({ browser, os, bot: '' })
const program = (bot) => ({ browser: '', os: '', bot })
const agents = new Map([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', person('Firefox', 'Linux')],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36',
    person('Chrome', 'Windows 10'),
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1',
    person('Safari', 'iPhone'),
  ],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', program('Googlebot')],
  [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)',
    program('GPTBot'),
  ],
  ['curl/8.5.0', program('curl')],
  ['python-requests/2.32 FastBot/1.0', program('python-requests')],
])
const agentOf = (text) =>
  agents.get(text) ?? (text === '' ? person('', '') : person('(unknown)', '(unknown)'))

/** The rows of a text whose first line is the line after `before`. */
export const rowsOf = (text, before = 0) =>
  text
    .trimEnd()
    .split('\n')
    .map((line, index) => rowOf(line, before + index + 1))

/** The rows of a span that a test of a row accepts: the filter in the page, written in JavaScript. */
export function select(rows, meets, { from, to } = {}) {
  const inTime = ({ time }) =>
    (from == null && to == null) ||
    (time !== null && (from == null || time >= from) && (to == null || time < to))
  return rows.filter((row) => inTime(row) && meets(row))
}

export const anyRow = () => true

function rowOf(line, number) {
  const m = combined.exec(line)
  if (!m) return rejected(line, number)
  const [path, ...query] = m[11].split('?')
  const agent = m[16] === '-' ? '' : m[16]
  const referrer = m[15] === '-' ? '' : m[15]
  const zone = Number(m[9].slice(0, 3)) * 3600 + Number(m[9][0] + m[9].slice(3)) * 60
  const time = Date.UTC(+m[5], months.indexOf(m[4]), +m[3], +m[6], +m[7], +m[8]) / 1000 - zone
  const status = Number(m[13])
  const client = m[1]
  return {
    row: number,
    line,
    flaw: '',
    rejected: false,
    repaired: false,
    time,
    zone,
    client,
    net: client.split('.').slice(0, 3).join('.') + '.0/24',
    user: m[2] === '-' ? '' : m[2],
    host: '',
    method: m[10],
    path,
    url: m[11],
    query: query.join('?'),
    protocol: m[12],
    status,
    class: status >= 200 && status < 600 ? `${m[13][0]}xx` : 'other',
    bytes: m[14] === '-' ? null : Number(m[14]),
    referrer,
    site: /^https?:\/\/([^/]+)/.exec(referrer)?.[1] ?? '',
    agent,
    ...agentOf(agent),
    kind: kindOf(path),
    request_time: seconds(m[17]),
    upstream_time: seconds(m[18]),
    hour: Math.floor((((time + zone) % 86400) + 86400) / 3600) % 24,
    weekday: ((Math.floor((time + zone) / 86400) + 3) % 7) + 1,
  }
}

const seconds = (text) => (text === undefined || text === '-' ? null : Number(text))

function kindOf(path) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (!name.includes('.')) return 'page'
  return Object.entries(kinds).find(([, pattern]) => pattern.test(name.toLowerCase()))?.[0] ?? 'other'
}

function rejected(line, number) {
  const flaw = open.test(line) ? 'the request is not complete' : 'no closing "]" after the time'
  const texts = 'client net user host method path url query protocol referrer site agent browser os bot kind'
  const row = Object.fromEntries(texts.split(' ').map((field) => [field, '']))
  const none = { time: null, zone: 0, status: null, class: null, bytes: null, request_time: null }
  return {
    ...row,
    ...none,
    upstream_time: null,
    hour: null,
    weekday: null,
    row: number,
    line,
    flaw,
    rejected: true,
  }
}
