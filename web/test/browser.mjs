// Chromium as the tests and measurements have it, and what they ask of a page over and over.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { picture } from './steps.mjs'

export const laptop = { width: 1280, height: 800 }

/** After this long what was waited for does not come: far beyond what a busy machine takes. */
export const patienceMs = 60_000

// Without these it looks for updates and talks to its maker while it is driven.
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Through a wire (wire.mjs) where one is given. */
export function launch(program, wire) {
  const proxy = wire
    ? [`--proxy-server=socks5://127.0.0.1:${wire.port}`, '--proxy-bypass-list=<-loopback>']
    : []
  return chromium.launch({ executablePath: program, args: [...flags, ...proxy], timeout: patienceMs })
}

/** A page of its own; what goes wrong in it by itself is put into `broken`. */
export async function open(browser, address, broken, options = {}) {
  const context = await browser.newContext({ viewport: laptop, ...options })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
  page.on('pageerror', (error) => broken.push(`page error: ${error.message}`))
  page.on('console', (message) => {
    // A connection we cut ourselves is reported by the browser too; a policy violation must never be.
    if (/Content.Security.Policy/i.test(message.text())) broken.push(message.text())
  })
  await page.goto(address)
  return page
}

export const at = (page, id) => page.getByTestId(id)
export const digits = (text) => Number(text.replace(/\D/g, ''))
export const state = (page, name, timeout = patienceMs) =>
  page.locator(`[data-testid=state][data-state=${name}]`).waitFor({ timeout })
export const send = (page, file) => page.locator('#file').setInputFiles(file)
/** What the page shows is the view of its address. */
export const settled = (page) => page.locator('[data-testid=filter][data-settled=true]').waitFor()

/** The view is that of the address, and counts so many lines. */
export async function expectMatching(page, wanted, about) {
  await page
    .waitForFunction(
      (wanted) =>
        document.querySelector('[data-testid=filter]')?.dataset.settled === 'true' &&
        Number(document.querySelector('[data-testid=matching]').textContent.replace(/\D/g, '')) === wanted,
      wanted,
    )
    .catch(() => {})
  assert.equal(digits(await at(page, 'matching').textContent()), wanted, about)
}

/** No session is left. */
export async function clear(page) {
  await page.evaluate(async () => {
    const { sessions } = await (await fetch('/api/sessions')).json()
    for (const { id } of sessions) await fetch(`/api/sessions/${id}`, { method: 'DELETE' })
  })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** axe finds nothing wrong, in either theme. */
export async function accessible(page) {
  await page.evaluate(axe)
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await page.evaluate(() => globalThis.axe.run())
    const said = ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`
    assert.deepEqual(violations.map(said), [])
  }
}

/** Pictures in three widths and both themes, where a folder is given. */
export async function shoot(page, folder, name) {
  if (!folder) return
  for (const [width, height] of [
    [380, 800],
    [1280, 800],
    [2560, 1300],
  ])
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme })
      await page.waitForTimeout(200)
      await page.screenshot({ path: picture(folder, `${name}-${width}-${colorScheme}`) })
    }
  await page.setViewportSize(laptop)
  await page.emulateMedia({ colorScheme: 'light' })
}
