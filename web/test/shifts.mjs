// Layout shifts of a page, as Chromium tells them: what jumped though nobody pressed anything.

/** In the page: what an element is called, for a message. */
function observe() {
  const name = (node) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement
    const tested = element?.closest('[data-testid]')
    return element
      ? `${element.tagName.toLowerCase()}.${element.className} in ${tested?.dataset.testid}`
      : 'gone'
  }
  globalThis.layoutShifts = []
  const take = (list) => {
    for (const { value, startTime, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue
      const moved = sources.map(
        ({ node, previousRect: a, currentRect: b }) =>
          `${name(node)} ${Math.round(a.top)}+${Math.round(a.height)} to ${Math.round(b.top)}+${Math.round(b.height)}`,
      )
      globalThis.layoutShifts.push({ value, at: Math.round(startTime), moved })
    }
  }
  new PerformanceObserver(take).observe({ type: 'layout-shift', buffered: true })
}

/** Before the page is opened. */
export const watchShifts = (page) => page.addInitScript(observe)

/** So far: all of them, and their sum. */
export async function shiftsOf(page) {
  const all = await page.evaluate(() => globalThis.layoutShifts)
  return { sum: all.reduce((sum, { value }) => sum + value, 0), all }
}

/** The largest, for a message. */
export const toldShifts = ({ all }) =>
  [...all]
    .sort((a, b) => b.value - a.value)
    .slice(0, 12)
    .map(({ value, at, moved }) => `${value.toFixed(4)} at ${at} ms: ${moved.join('; ')}`)
    .join('\n')
