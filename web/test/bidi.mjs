// A browser by WebDriver BiDi, as any Firefox speaks it without a driver beside it: the few commands a test needs.
// Node before 22 has its WebSocket behind --experimental-websocket.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { patienceMs } from './browser.mjs'
import { start } from './children.mjs'

const keys = { Enter: '\uE007', Escape: '\uE00C', Shift: '\uE008' }

/** Ends the test at once where there would be no way to talk to a browser. */
export function needWebSocket() {
  if (typeof WebSocket === 'function') return
  console.error('This needs a WebSocket: node 22 or later, or node --experimental-websocket.')
  process.exit(2)
}

export class Firefox {
  static async launch(program) {
    const firefox = new Firefox()
    firefox.profile = mkdtempSync(path.join(os.tmpdir(), 'rorqual-firefox-'))
    const args = ['--headless', '--no-remote', '--profile', firefox.profile, '--remote-debugging-port', '0']
    firefox.process = start(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    await firefox.connect(await firefox.address())
    return firefox
  }

  /** It says on stderr where it listens. */
  async address() {
    let said = ''
    for await (const part of this.process.stderr.iterator({ destroyOnReturn: false })) {
      said += part
      const address = /WebDriver BiDi listening on (ws:\S+)/.exec(said)?.[1]
      if (address) {
        this.process.stderr.resume()
        return `${address}/session`
      }
    }
    throw new Error(`Firefox ended before it listened: ${said}`)
  }

  async connect(address) {
    this.waiting = new Map()
    this.errors = []
    this.socket = new WebSocket(address)
    await new Promise((go, fail) => {
      this.socket.addEventListener('open', go)
      this.socket.addEventListener('error', () => fail(new Error(`no connection to ${address}`)))
    })
    this.socket.addEventListener('message', ({ data }) => this.heard(JSON.parse(data)))
    const { capabilities } = await this.send('session.new', { capabilities: {} })
    this.version = capabilities.browserVersion
    await this.send('session.subscribe', { events: ['log.entryAdded'] })
    const { contexts } = await this.send('browsingContext.getTree', {})
    this.context = contexts[0].context
  }

  heard({ id, type, result, message, method, params }) {
    if (type === 'event') {
      if (method === 'log.entryAdded' && params.level === 'error') this.errors.push(params.text)
      return
    }
    const { go, fail } = this.waiting.get(id)
    this.waiting.delete(id)
    if (type === 'success') go(result)
    else fail(new Error(message))
  }

  send(method, params) {
    const id = (this.last = (this.last ?? 0) + 1)
    return new Promise((go, fail) => {
      this.waiting.set(id, { go, fail })
      this.socket.send(JSON.stringify({ id, method, params }))
    })
  }

  async open(url) {
    await this.send('browsingContext.navigate', { context: this.context, url, wait: 'complete' })
  }

  async size(width, height) {
    await this.send('browsingContext.setViewport', { context: this.context, viewport: { width, height } })
  }

  /** What an expression of the page is, as JSON tells it. */
  async read(expression) {
    const answer = await this.send('script.evaluate', {
      expression: `(async () => JSON.stringify(await (${expression})))()`,
      target: { context: this.context },
      awaitPromise: true,
    })
    if (answer.type === 'exception') throw new Error(`${expression}: ${answer.exceptionDetails.text}`)
    return answer.result.value === undefined ? undefined : JSON.parse(answer.result.value)
  }

  /** Waits until an expression of the page is true. */
  async until(expression) {
    const begun = Date.now()
    while (!(await this.read(`Boolean(${expression})`))) {
      if (Date.now() - begun > patienceMs) throw new Error(`never: ${expression}`)
      await new Promise((go) => setTimeout(go, 50))
    }
  }

  async node(selector) {
    const { nodes } = await this.send('browsingContext.locateNodes', {
      context: this.context,
      locator: { type: 'css', value: selector },
      maxNodeCount: 1,
    })
    if (nodes.length === 0) throw new Error(`no ${selector}`)
    return { sharedId: nodes[0].sharedId }
  }

  async choose(selector, files) {
    await this.send('input.setFiles', { context: this.context, element: await this.node(selector), files })
  }

  async click(selector) {
    const origin = { type: 'element', element: await this.node(selector) }
    await this.read(`document.querySelector(${JSON.stringify(selector)}).scrollIntoView({ block: 'center' })`)
    await this.point([
      { type: 'pointerMove', x: 0, y: 0, origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ])
  }

  /** Across an element, from and to in parts of its width; with a key held. */
  async drag(selector, from, to, held) {
    const box = await this.read(
      `(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`,
    )
    const at = (part) => ({ x: Math.round(box.x + box.width * part), y: Math.round(box.y + box.height / 2) })
    if (held) await this.key([{ type: 'keyDown', value: keys[held] }])
    await this.point([
      { type: 'pointerMove', ...at(from) },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerMove', ...at((from + to) / 2), duration: 50 },
      { type: 'pointerMove', ...at(to), duration: 50 },
      { type: 'pointerUp', button: 0 },
    ])
    if (held) await this.key([{ type: 'keyUp', value: keys[held] }])
  }

  async press(...names) {
    for (const name of names) {
      const value = keys[name] ?? name
      await this.key([
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ])
    }
  }

  point(actions) {
    return this.act({ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions })
  }

  key(actions) {
    return this.act({ type: 'key', id: 'keyboard', actions })
  }

  act(source) {
    return this.send('input.performActions', { context: this.context, actions: [source] })
  }

  async screenshot() {
    const { data } = await this.send('browsingContext.captureScreenshot', { context: this.context })
    return Buffer.from(data, 'base64')
  }

  async close() {
    await this.send('browser.close', {}).catch(() => {})
    if (this.process.exitCode === null) await once(this.process, 'exit')
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
