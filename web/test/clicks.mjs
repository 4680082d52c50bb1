// From a press to all panels drawn, beside the server's own work: some 60 presses of all kinds on one log, in Chromium.
//   node test/clicks.mjs --program PROGRAM --file LOG [--memory SIZE] [--chromium PROGRAM]
// Prints JSON. Times are in milliseconds, from the event of the press to the frame with the last change of a panel on it.

import { options } from './args.mjs'
import { laptop, launch, patienceMs, send, state } from './browser.mjs'
import { quantiles } from './quantiles.mjs'
import { serve } from './serve.mjs'

const args = options('program', 'file', 'memory', 'chromium')
const arrivalMs = 30 * 60_000
/** So long nothing changes after an answer: then all of it is drawn. */
const quietMs = 150

/** In the page: when the last press was, and when what followed was painted, the table of lines apart. */
function watch() {
  const turn = { pressed: 0, changed: 0, panels: 0, lines: 0 }
  for (const type of ['pointerup', 'keydown', 'change'])
    addEventListener(type, (event) => (turn.pressed = event.timeStamp), { capture: true })
  const changed = (which) => {
    turn.changed = performance.now()
    // A message that was sent from a frame's callback comes after its painting.
    requestAnimationFrame(() => {
      const channel = new MessageChannel()
      channel.port1.onmessage = () => (turn[which] = performance.now())
      channel.port2.postMessage(null)
    })
  }
  const isLines = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest('[data-testid=lines]')
  new MutationObserver((records) => {
    if (records.some(({ target }) => isLines(target))) changed('lines')
    if (records.some(({ target }) => !isLines(target))) changed('panels')
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  const { clearRect } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.clearRect = function (...rect) {
    changed('panels')
    return clearRect.apply(this, rect)
  }
  globalThis.rorqualTurn = turn
}

const server = await serve(args.program, '--memory', args.memory)
const browser = await launch(args.chromium)
const page = await browser.newPage({ viewport: laptop })
await page.addInitScript(watch)
await page.goto(server.base)
const begun = Date.now()
await send(page, args.file)
await state(page, 'finished', arrivalMs)
const arrivedMs = Date.now() - begun
await settled()

async function settled() {
  await page.waitForFunction(
    (quietMs) =>
      document.querySelector('[data-testid=filter]')?.dataset.settled === 'true' &&
      !document.querySelector('#histogram.asking') &&
      performance.now() - globalThis.rorqualTurn.changed > quietMs,
    quietMs,
    { timeout: patienceMs, polling: 50 },
  )
}

const turns = []

async function measure(what, press) {
  const answering = page.waitForResponse((response) => response.url().endsWith('/view'))
  await press()
  const answer = await answering
  await settled()
  const { pressed, panels, lines } = await page.evaluate(() => globalThis.rorqualTurn)
  const { seconds } = await answer.json()
  turns.push({
    what,
    ms: panels - pressed,
    lines_ms: Math.max(0, lines - pressed),
    server_ms: seconds * 1000,
  })
}

const undo = () => measure('undo', () => page.keyboard.press('u'))
const value = (field, index) => page.locator(`[data-testid=panel-${field}] button.value`).nth(index)

async function panel(field) {
  if ((await page.locator(`[data-testid=panel-${field}] button.value`).count()) < 2) return
  await measure(`${field}: include`, () => value(field, 0).click())
  await undo()
  await measure(`${field}: exclude`, () => value(field, 1).click({ modifiers: ['Alt'] }))
  await undo()
}

async function type(text) {
  await page.keyboard.press('/')
  const input = page.getByTestId('search')
  await input.fill(text)
  await page.locator('[data-testid=search][data-answered=true]').waitFor()
  await measure(text, () => page.keyboard.press('Enter'))
}

async function brush(from, to) {
  const over = page.locator('#histogram .u-over')
  await over.scrollIntoViewIfNeeded()
  const box = await over.boundingBox()
  await page.mouse.move(box.x + box.width * from, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 4 })
  await measure(`brush ${from} to ${to}`, () => page.mouse.up())
}

const fields = ['path', 'client', 'net', 'status', 'method', 'site', 'bot', 'browser', 'os', 'kind', 'agent']
for (const field of fields) await panel(field)
for (const [from, to] of [
  [0.1, 0.9],
  [0.3, 0.4],
  [0.62, 0.64],
]) {
  await brush(from, to)
  await measure('path: include in a span', () => value('path', 0).click())
  await undo()
  await undo()
}
for (const text of [
  'path contains "a"',
  'agent ~ "(?i)bot"',
  'status >= 400 and not bot',
  'bytes >= 64KiB',
]) {
  await type(text)
  await undo()
}
await type('status >= 400')
await measure('chip: turned round', () => page.getByRole('button', { name: /^Turn round/ }).click())
await measure('chip: removed', () => page.getByRole('button', { name: /^Remove filter/ }).click())
for (const stack of ['method', 'kind', 'class'])
  await measure(`stacked by ${stack}`, () => page.getByTestId('stack').selectOption(stack))

const rows = Number((await page.getByTestId('lines-total').textContent()).replace(/\D/g, ''))
const { version } = await page.evaluate(async () => (await fetch('/api/server')).json())
await browser.close()
await server.stop()
const slowest = [...turns].sort((a, b) => b.ms - a.ms).slice(0, 5)
console.log(
  JSON.stringify(
    {
      version,
      rows,
      arrived_seconds: arrivedMs / 1000,
      clicks: turns.length,
      press_to_drawn_ms: quantiles(turns.map(({ ms }) => ms)),
      server_ms: quantiles(turns.map(({ server_ms }) => server_ms)),
      press_to_lines_ms: quantiles(turns.map(({ lines_ms }) => lines_ms).filter((ms) => ms > 0)),
      slowest,
    },
    (_, value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value),
    2,
  ),
)
