// Work per frame while a log arrives and views are asked, in Chromium.
//   node test/frames.mjs --program PROGRAM --file LOG [--memory SIZE] [--chromium PROGRAM]
// Prints JSON. Work is what the page's main thread does from one frame to the next, as Chromium's own trace has it:
// `work_ms` by the clock, `cpu_ms` without what other programs took of the processor meanwhile. `layout_shift` is the
// sum of all shifts that Chromium tells, until the log is whole.

import { options } from './args.mjs'
import { laptop, launch, patienceMs, send, state } from './browser.mjs'
import { quantiles } from './quantiles.mjs'
import { serve } from './serve.mjs'
import { shiftsOf, watchShifts } from './shifts.mjs'

const args = options('program', 'file', 'memory', 'chromium')
const arrivalMs = 30 * 60_000
/** A trace is held in memory: so much of a long arrival is enough. */
const tracedMs = 60_000
const pressEveryMs = 1000
/** One and a half frames at 60 Hz: the screen had nothing new where it could have had. */
const missedMs = 25
const frameMark = 'rorqual-frame'

function mark(name) {
  const next = () => {
    performance.mark(name)
    requestAnimationFrame(next)
  }
  requestAnimationFrame(next)
}

const server = await serve(args.program, '--memory', args.memory)
const browser = await launch(args.chromium)
const page = await browser.newPage({ viewport: laptop })
const views = []
page.on('response', (response) => {
  if (!response.url().endsWith('/view') || !response.ok()) return
  const asked = response.request().timing()
  views.push({ answer: response.json().catch(() => null), asked })
})
await page.addInitScript(mark, frameMark)
await watchShifts(page)
await page.goto(server.base)
await page.getByTestId('sample').waitFor()
await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing', 'devtools.timeline'] })
const begun = Date.now()
await send(page, args.file)
await page.getByTestId('filter').waitFor({ timeout: patienceMs })
const presses = []
const arriving = () => page.locator('[data-testid=state][data-state=receiving]').count()
while ((await arriving()) > 0 && Date.now() - begun < tracedMs) {
  const value = page.locator('[data-testid=panel-path] button.value').first()
  if ((await value.count()) === 0) continue
  const pressed = Date.now()
  await value.click()
  await page
    .waitForFunction(() => document.querySelector('[data-testid=filter]')?.dataset.settled === 'true')
    .catch(() => {})
  presses.push(Number(await page.getByTestId('filter').getAttribute('data-took-ms')))
  await page.waitForTimeout(Math.max(0, pressEveryMs - (Date.now() - pressed)))
}
const traced = Date.now() - begun
const trace = JSON.parse((await browser.stopTracing()).toString()).traceEvents
await state(page, 'finished', arrivalMs)
const answers = (await Promise.all(views.map(({ answer }) => answer))).filter(Boolean)
const layoutShift = (await shiftsOf(page)).sum
const bytes = await page.evaluate(
  async () => (await (await fetch('/api/sessions')).json()).sessions[0].offset,
)
await browser.close()
await server.stop()

const marks = trace.filter(({ name, cat }) => name === frameMark && cat.includes('user_timing'))
const { pid, tid } = marks[0]
const frames = marks
  .filter((event) => event.pid === pid && event.tid === tid)
  .map(({ ts }) => ts)
  .sort((a, b) => a - b)
const tasks = trace.filter(
  ({ name, ph, pid: ofPid, tid: ofTid }) =>
    ofPid === pid && ofTid === tid && ph === 'X' && /RunTask$/.test(name),
)

/** Of each frame, what of the tasks lies in it; a task within another is a part of that. */
function perFrame(durationOf) {
  const sums = new Array(Math.max(0, frames.length - 1)).fill(0)
  let end = -Infinity
  for (const task of [...tasks].sort((a, b) => a.ts - b.ts)) {
    if (task.ts < end) continue
    end = task.ts + task.dur
    const at = frames.findLastIndex((frame) => frame <= task.ts)
    if (at >= 0 && at < sums.length) sums[at] += durationOf(task) / 1000
  }
  return sums
}

const rounded = (value, digits) => Number(value.toFixed(digits))
const gaps = frames.slice(1).map((at, index) => (at - frames[index]) / 1000)
console.log(
  JSON.stringify(
    {
      bytes,
      traced_seconds: traced / 1000,
      work_ms: quantiles(perFrame(({ dur }) => dur)),
      cpu_ms: quantiles(perFrame(({ tdur }) => tdur ?? 0)),
      gap_ms: quantiles(gaps),
      missed_frames: gaps.filter((ms) => ms > missedMs).length,
      longest_task_ms: Math.max(0, ...tasks.map(({ dur }) => dur)) / 1000,
      long_tasks: tasks.filter(({ dur }) => dur > 50_000).length,
      press_to_answer_ms: quantiles(presses),
      layout_shift: layoutShift,
      views: answers.length,
      server_ms: quantiles(answers.map(({ seconds }) => seconds * 1000)),
    },
    (name, value) => (typeof value === 'number' ? rounded(value, name === 'layout_shift' ? 4 : 1) : value),
    2,
  ),
)
