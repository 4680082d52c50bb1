// A made-up access log, the same for every run: daily tides, a burst of errors, some scanners, a few broken lines.

const paths = [
  '/',
  '/index.html',
  '/favicon.ico',
  '/style.css',
  '/app.js',
  '/blog/',
  '/blog/atom.xml',
  '/robots.txt',
  '/images/logo.svg',
  '/api/v1/items?limit=50&sort=created',
  '/api/v1/login',
  '/downloads/handbook.pdf',
  '/blog/2025/why-whales-are-large',
  '/wp-login.php',
  '/.env',
  '/<script>alert(1)</script>?q=1',
  '/missing.gif',
]
const agents = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'curl/8.5.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1',
]
const referrers = [
  '-',
  '-',
  '-',
  'https://www.google.com/',
  'https://news.ycombinator.com/',
  'https://example.org/blog/',
]
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (n) => String(n).padStart(2, '0')

export function* lines(total, { start = Date.UTC(2025, 0, 1), days = 21 } = {}) {
  let seed = 42
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const skewed = (list, power = 2) => list[Math.floor(random() ** power * list.length)]
  let time = start
  const mean = (days * 86400e3) / total
  for (let i = 0; i < total; i++) {
    const hour = (time / 3600e3) % 24
    const week = Math.floor(time / 86400e3) % 7
    const tide = 0.25 + 0.75 * Math.sin((Math.PI * hour) / 24) ** 2 * (week < 2 ? 0.6 : 1)
    time += (mean * 0.6 * -Math.log(1 - random())) / tide
    const part = (time - start) / (days * 86400e3)
    const storm = part > 0.57 && part < 0.6
    const d = new Date(time)
    const when = `${two(d.getUTCDate())}/${months[d.getUTCMonth()]}/${d.getUTCFullYear()}:${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} +0000`
    const ip = `${60 + Math.floor(random() ** 3 * 120)}.${Math.floor(random() ** 2 * 40)}.${Math.floor(random() ** 4 * 255)}.${1 + Math.floor(random() ** 3 * 250)}`
    const r = random()
    const path = skewed(paths)
    const status =
      storm && r < 0.35
        ? 503
        : r < 0.004
          ? 500
          : /env|wp-|missing/.test(path)
            ? 404
            : r < 0.02
              ? 403
              : r < 0.13
                ? 304
                : r < 0.16
                  ? 301
                  : 200
    const size = status === 304 ? '-' : Math.floor(200 + random() ** 6 * 900000)
    if (i % 997 === 500) yield `${ip} - - [${when} "GET ${path} HTTP/1.1" ${status} ${size}`
    else
      yield `${ip} - - [${when}] "${r < 0.93 ? 'GET' : r < 0.98 ? 'POST' : 'HEAD'} ${path} HTTP/${r < 0.3 ? '2.0' : '1.1'}" ${status} ${size} "${skewed(referrers, 1)}" "${skewed(agents, 1)}"`
  }
}

export const text = (total, options) => [...lines(total, options)].join('\n') + '\n'

const timedPaths = [
  ...paths,
  '/search?q=whale&page=2',
  '/search?q=krill',
  '/fonts/inter.woff2',
  '/checkout',
  '/api/v1/users/7',
  '/data/sightings.json',
]
const bots = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)',
]

/**
 * Another log, with times of requests and three things to find in it: a broken deployment of `/checkout` (500, slow)
 * on the 8th, a scanner from 203.0.113.0/24 on the 12th, and a bot that asks faster than anyone on the 15th. Times
 * are those of a clock two hours east.
 */
export function* timedLines(total, { start = Date.UTC(2025, 2, 3), days = 14 } = {}) {
  let seed = 7
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const pick = (list, power = 1) => list[Math.floor(random() ** power * list.length)]
  const day = 86400e3
  for (let i = 0; i < total; i++) {
    const even = ((i + random()) / total) * days
    const rusher = i > 17500 && i < 17570
    const time = rusher ? start + 12.321 * day : start + (even + 0.1 * Math.sin(2 * Math.PI * even)) * day
    const since = (time - start) / day
    const scanner = since > 9.4 && since < 9.6 && random() < 0.5
    const bot = rusher || random() < 0.18
    const path = scanner
      ? `/admin/${pick(['setup', 'config', 'backup'])}.php`
      : rusher
        ? '/api/v1/items?limit=50&sort=created'
        : random() < 0.1
          ? '/checkout'
          : pick(timedPaths, 2)
    const broken = path === '/checkout' && since > 5.2 && since < 5.7
    const status = scanner
      ? 404
      : broken
        ? 500
        : /env|wp-|missing/.test(path)
          ? 404
          : random() < 0.1
            ? 304
            : random() < 0.01
              ? 502
              : 200
    const client = scanner
      ? `203.0.113.${1 + Math.floor(random() * 4)}`
      : rusher
        ? '198.51.100.7'
        : `${60 + Math.floor(random() ** 3 * 90)}.${Math.floor(random() ** 2 * 40)}.${Math.floor(random() ** 4 * 99)}.${1 + Math.floor(random() ** 3 * 250)}`
    const took = (broken ? 2 + random() * 4 : 0.004 + random() ** 8 * 1.5).toFixed(3)
    const d = new Date(time + 2 * 3600e3)
    const when = `${two(d.getUTCDate())}/${months[d.getUTCMonth()]}/${d.getUTCFullYear()}:${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} +0200`
    const size = status === 304 ? '-' : Math.floor(200 + random() ** 6 * 900000)
    const agent = rusher ? 'python-requests/2.32 FastBot/1.0' : bot ? pick(bots) : pick(agents)
    if (i % 997 === 500) yield `${client} - - [${when}] "GET ${path} HTTP/1.1`
    else
      yield `${client} - - [${when}] "${random() < 0.94 ? 'GET' : 'POST'} ${path} HTTP/${random() < 0.3 ? '2.0' : '1.1'}" ${status} ${size} "${pick(referrers)}" "${agent}" ${took} ${(took * 0.9).toFixed(3)}`
  }
}

export const timedText = (total, options) => [...timedLines(total, options)].join('\n') + '\n'
