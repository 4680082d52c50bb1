// Real clients against the real server: tus-js-client over a network that breaks, and curl.
//
//   node clients.mjs --program target/debug/rorqual [--seed 1]

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as tus from 'tus-js-client'

const { values } = parseArgs({ options: { program: { type: 'string' }, seed: { type: 'string', default: '1' } } })

/** Connections that are broken. */
const BREAKS = 100

/** Most bytes that one of them lets through: all together are some 16 MB, less than the log has. */
const BREAK_BYTES_MAX = 300_000

/** Attempts without a byte of progress, 20 ms apart: a minute. */
const ATTEMPTS = 3000

/** Numbers below 1 that are the same for the same seed (mulberry32). */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A log of so many lines whose sizes add up to `bytes_sent`. */
function makeLog(lines) {
  let bytes_sent = 0
  const line = (number) => {
    bytes_sent += number % 1000
    const time = new Date(1735783200000 + number * 1000).toISOString().slice(11, 19)
    return `10.0.${number % 5}.${number % 11} - - [02/Jan/2025:${time} +0000] "GET /p${number % 7}?q=${number} HTTP/1.1" 200 ${number % 1000} "-" "agent"\n`
  }
  const log = Buffer.from(Array.from({ length: lines }, (_, number) => line(number)).join(''))
  return { log, bytes_sent, lines }
}

class Server {
  static async start() {
    const server = new Server()
    server.process = spawn(values.program, ['serve', '--port', '0', '--sessions', '2'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [first] = await once(server.process.stdout, 'data')
    const [, port, token] = String(first).match(/http:\/\/127\.0\.0\.1:(\d+)\/\?token=(\w+)/)
    server.port = Number(port)
    server.headers = { Authorization: `Bearer ${token}` }
    server.origin = `http://127.0.0.1:${port}`
    return server
  }

  async ask(method, path) {
    const answer = await fetch(this.origin + path, { method, headers: this.headers })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** What the report says of a log, once it is finished. */
  async totals(id) {
    const { session, report } = await this.ask('GET', `/api/sessions/${id}`)
    assert.equal(session.state, 'finished')
    await this.ask('DELETE', `/api/sessions/${id}`)
    const panels = report.panels.map(({ field, rows }) => [field, rows])
    return { lines: report.lines, bytes_sent: report.bytes_sent, status: report.status, time: report.time, panels }
  }
}

/** A network to the server on which the first connections break, each after a number of bytes. */
async function breakingProxy(port, next) {
  const broken = { count: 0 }
  let connections = 0
  const listener = net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1')
    // The first lasts until the upload is made: where that breaks, a client knows no upload to go on with.
    connections += 1
    let left = connections === 1 ? 1_100_000 : broken.count < BREAKS ? Math.floor(next() * BREAK_BYTES_MAX) : Infinity
    let done = false
    client.on('data', (bytes) => {
      if (done) return
      const through = bytes.subarray(0, left)
      left -= through.length
      if (left <= 0) {
        done = true
        broken.count += 1
        // What was let through arrives, and then its end; the client hears nothing any more.
        server.end(through)
        client.destroy()
      } else if (!server.write(through)) {
        client.pause()
        server.once('drain', () => client.resume())
      }
    })
    server.on('data', (bytes) => done || client.write(bytes))
    const lost = () => done || server.destroy()
    client.on('error', lost).on('close', lost)
    server.on('error', () => client.destroy()).on('close', () => client.destroy())
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return { listener, broken, port: listener.address().port }
}

/** Uploads as an application would; the session's id. */
function upload(log, port, server, options) {
  return new Promise((resolve, reject) => {
    const upload = new tus.Upload(log, {
      endpoint: `http://127.0.0.1:${port}/api/tus/`,
      // The server answers to its own address only; the client believes in the proxy's.
      headers: { ...server.headers, Host: `127.0.0.1:${server.port}` },
      metadata: { filename: 'access.log' },
      retryDelays: Array.from({ length: ATTEMPTS }, () => 20),
      uploadSize: log.length,
      onError: reject,
      onSuccess: () => resolve(upload.url.split('/').at(-1)),
      ...options,
    })
    upload.start()
  })
}

async function tusClient(server, { log, lines, bytes_sent }) {
  const expected = await server.totals(await upload(log, server.port, server, {}))
  assert.equal(expected.lines.parsed, lines)
  assert.equal(expected.bytes_sent, bytes_sent)
  for (const [name, options] of [
    ['one request', {}],
    ['parts of 1 MB', { chunkSize: 1_000_000 }],
    ['its length put off', { chunkSize: 1_000_000, uploadLengthDeferred: true, uploadSize: undefined }],
    ['data with its creation', { chunkSize: 1_000_000, uploadDataDuringCreation: true }],
  ]) {
    const { listener, broken, port } = await breakingProxy(server.port, random(Number(values.seed)))
    const totals = await server.totals(await upload(log, port, server, options))
    assert.deepEqual(totals, expected, name)
    assert.ok(broken.count >= BREAKS, `${name}: ${broken.count} connections broke`)
    listener.close()
    console.log(`tus-js-client, ${name}: broken off ${broken.count} times, the same totals`)
  }
  return expected
}

async function curl(server, args, input) {
  const headers = ['-H', `Authorization: ${server.headers.Authorization}`]
  const child = spawn('curl', ['-sS', ...headers, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(input)
  let text = ''
  child.stdout.on('data', (bytes) => (text += bytes))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, text)
  return JSON.parse(text)
}

async function curlClient(server, { log }, expected) {
  const folder = mkdtempSync(join(tmpdir(), 'rorqual-clients-'))
  const file = join(folder, 'access.log')
  writeFileSync(file, log)
  try {
    for (const [name, args, input] of [
      ['access.log', ['-T', file, `${server.origin}/api/upload/`]],
      ['other.log', ['-T', file, `${server.origin}/api/upload/other.log`]],
      ['upload', ['-T', '-', `${server.origin}/api/upload/`], log],
      ['upload', ['--data-binary', '@-', `${server.origin}/api/upload`], log],
      ['a.log', ['-H', 'Transfer-Encoding: chunked', '--data-binary', `@${file}`, `${server.origin}/api/upload?name=a.log`]],
    ]) {
      const { session, report } = await curl(server, args, input)
      assert.equal(session.name, name)
      assert.equal(report, `/api/sessions/${session.id}`)
      assert.deepEqual(await server.totals(session.id), expected, args.join(' '))
      console.log(`curl ${args.join(' ').replaceAll(folder, '').replaceAll(server.origin, '')}: the same totals`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const server = await Server.start()
try {
  const made = makeLog(250_000)
  await curlClient(server, made, await tusClient(server, made))
} finally {
  server.process.kill()
}
