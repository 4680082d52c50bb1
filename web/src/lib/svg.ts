/** The histogram as SVG text: the same bars and ticks as on the screen, without a screen. */

import { skyline } from './ghost'
import { binTitle, hitTicks, nameOf, timeTicks, type Bins, type Span } from './histogram'
import { lensExtent, lensSaid, lensTicks, type LensValues } from './lens'

export interface Drawing {
  title: string
  bins: Bins
  heights: number[][]
  isLog: boolean
  lens: LensValues | null
  /** Heights of an outline over the bars, and what it is. */
  ghost: { heights: number[]; title: string } | null
  /** One colour for each part, from the baseline upwards. */
  colours: string[]
  view: Span
  zone: number
  ink: string
  ground: string
  /** That of the ghost. */
  outline: string
}

const width = 1200
const height = 420
const plot = { left: 64, right: 1180, top: 60, bottom: 370 }
/** The room that the axis of a lens takes. */
const lensAxis = 56
const rightOf = ({ lens }: Drawing) => plot.right - (lens === null ? 0 : lensAxis)

export const escaped = (text: string) =>
  text
    .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
    // What XML cannot have at all.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')

export function histogramSvg(drawing: Drawing): string {
  const { title, ink, ground } = drawing
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}">`,
    `<rect width="${width}" height="${height}" fill="${ground}"/>`,
    `<text x="${plot.left}" y="24" font-size="14" font-weight="600">${escaped(title)}</text>`,
    ...legend(drawing),
    ...axes(drawing),
    ...bars(drawing),
    ...outline(drawing),
    ...line(drawing),
    '</svg>',
    '',
  ].join('\n')
}

function legend({ bins, colours }: Drawing): string[] {
  let x = plot.left
  return [...bins.names.keys()].reverse().map((index) => {
    const name = nameOf(bins.names[index] ?? null).slice(0, 40)
    const at = x
    x += 32 + name.length * 7
    return `<rect x="${at}" y="36" width="10" height="10" fill="${colours[index] ?? ''}"/><text x="${at + 16}" y="45">${escaped(name)}</text>`
  })
}

const highest = ({ heights, ghost }: Drawing) =>
  Math.max(1, ...(heights[heights.length - 1] ?? []), ...(ghost?.heights ?? []))

function axes(drawing: Drawing): string[] {
  const { view, zone, ink, isLog } = drawing
  const most = highest(drawing)
  const right = rightOf(drawing)
  const y = (value: number) => plot.bottom - (value / most) * (plot.bottom - plot.top)
  const x = placed(drawing)
  const lines = hitTicks(most, plot.bottom - plot.top, isLog).map(
    ({ at, label }) =>
      `<path d="M${plot.left} ${round(y(at))}H${right}" stroke="${ink}" stroke-opacity="0.15"/><text x="${plot.left - 8}" y="${round(y(at) + 4)}" text-anchor="end">${label}</text>`,
  )
  if (isLog) lines.push(`<text x="${plot.left - 8}" y="${plot.bottom + 34}" text-anchor="end">log</text>`)
  const labels = timeTicks(view, right - plot.left, zone).map(
    ({ at, label, above }) =>
      `<text x="${round(x(at))}" y="${plot.bottom + 18}">${label}</text><text x="${round(x(at))}" y="${plot.bottom + 34}" opacity="0.7">${above}</text>`,
  )
  return [...lines, ...labels]
}

function bars(drawing: Drawing): string[] {
  const { bins, heights, colours, zone, lens } = drawing
  const most = highest(drawing)
  const x = placed(drawing)
  const scale = (plot.bottom - plot.top) / most
  return bins.at.flatMap((at, bin) => {
    const left = Math.max(plot.left, x(at))
    const right = Math.min(rightOf(drawing), x(at + bins.seconds))
    const parts = heights.flatMap((tops, part) => {
      const below = part === 0 ? 0 : (heights[part - 1]?.[bin] ?? 0)
      const tall = ((tops[bin] ?? 0) - below) * scale
      if (tall <= 0 || right <= left) return []
      const top = plot.bottom - (tops[bin] ?? 0) * scale
      return `<rect x="${round(left)}" y="${round(top)}" width="${round(Math.max(0.5, right - left - 0.5))}" height="${round(tall)}" fill="${colours[part] ?? ''}"/>`
    })
    return parts.length === 0
      ? []
      : [`<g><title>${escaped(binTitle(bins, bin, zone) + lensSaid(lens, bin))}</title>${parts.join('')}</g>`]
  })
}

/** Other bars over these, with what they are. */
function outline(drawing: Drawing): string[] {
  const { bins, ghost, view, ground, outline: stroke } = drawing
  if (ghost === null) return []
  const x = placed(drawing)
  const scale = (plot.bottom - plot.top) / highest(drawing)
  const cut = (time: number) => Math.min(view.to, Math.max(view.from, time))
  const points = skyline(bins, ghost.heights).map(
    ({ at, height }) => `${round(x(cut(at)))} ${round(plot.bottom - height * scale)}`,
  )
  const path = (stroke: string, wide: number) =>
    `<path d="M${points.join('L')}" fill="none" stroke="${stroke}" stroke-width="${wide}"/>`
  const name = `<text x="${plot.left}" y="${height - 8}" fill="${stroke}">${escaped(ghost.title)}</text>`
  return [path(ground, 5), path(stroke, 2), name]
}

/** The lens, with its axis; a bar without a value breaks it. */
function line(drawing: Drawing): string[] {
  const { bins, lens, ink, ground, view } = drawing
  if (lens === null) return []
  const [least, most] = lensExtent(lens)
  const x = placed(drawing)
  const y = (value: number) => plot.bottom - ((value - least) / (most - least)) * (plot.bottom - plot.top)
  const right = rightOf(drawing)
  const labels = lensTicks(lens, plot.bottom - plot.top).map(
    ({ at, label }) => `<text x="${right + 8}" y="${round(y(at) + 4)}">${escaped(label)}</text>`,
  )
  const name = `<text x="${plot.right}" y="45" text-anchor="end">— ${escaped(lens.name)}, right axis</text>`
  const points = lens.values.flatMap((value, bin) => {
    const at = (bins.at[bin] ?? 0) + bins.seconds / 2
    if (value === null || at < view.from || at > view.to) return []
    const isFirst = (lens.values[bin - 1] ?? null) === null
    return [`${isFirst ? 'M' : 'L'}${round(x(at))} ${round(y(value))}${isFirst ? 'h0.01' : ''}`]
  })
  const path = (stroke: string, wide: number) =>
    `<path d="${points.join('')}" fill="none" stroke="${stroke}" stroke-width="${wide}" stroke-linejoin="round" stroke-linecap="round"/>`
  return [...labels, name, path(ground, 5), path(ink, 2)]
}

const placed = (drawing: Drawing) => {
  const { view } = drawing
  return (time: number) =>
    plot.left + ((time - view.from) / (view.to - view.from)) * (rightOf(drawing) - plot.left)
}

const round = (value: number) => Number(value.toFixed(2))
