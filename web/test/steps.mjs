// The steps of a test, one after another, each told as it ends. One that fails does not end the others.

import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** How many failed. `before` runs ahead of each step, `failed` after one that did with its number, `after` behind each. */
export async function run(steps, { before, failed, after } = {}) {
  let count = 0
  for (const [name, step] of steps) {
    const begun = Date.now()
    before?.()
    try {
      await step()
      console.log(`ok    ${name} (${Date.now() - begun} ms)`)
    } catch (error) {
      count++
      console.log(`FAIL  ${name}\n${error.stack}`)
      await failed?.(count)
    }
    await after?.(name)
  }
  return count
}

/** What a page that failed says, and its picture. */
export async function tell(page, shots, number) {
  const seen = await page.evaluate(() => document.body.innerText).catch(String)
  console.log(`      the page is ${page.url()} and says: ${seen.replace(/\s+/g, ' ').slice(0, 600)}`)
  if (shots) await page.screenshot({ path: picture(shots, `fail-${number}`) }).catch(() => {})
}

/** Where a picture goes. */
export function picture(shots, name) {
  mkdirSync(shots, { recursive: true })
  return path.join(shots, `${name}.png`)
}

/** Ends the test; what broke by itself counts as failed. */
export function end(title, total, failed, broken) {
  for (const message of broken) console.log(`FAIL  ${message}`)
  const all = failed + broken.length
  console.log(`${title}: ${total - failed} of ${total} steps passed, ${all} failed`)
  process.exit(all > 0 ? 1 : 0)
}
