/** The histogram on a canvas: uPlot set up for stacked bars of time. Knows pixels and colours, no store. */

import uPlot from 'uplot'
import { skyline } from './ghost'
import { hitTicks, timeTicks, type Bins, type Span } from './histogram'
import { lensExtent, lensTicks, lensTitle, type LensValues } from './lens'
import type { Look } from './series'
import { textured } from './texture'

export interface Scene {
  bins: Bins
  /** Heights to draw, as `stack` makes them, and how each part looks. */
  heights: number[][]
  looks: Look[]
  /** Heights are logarithms. */
  isLog: boolean
  /** What is drawn over the bars, by an axis of its own; null where the answer is not there. */
  lens: LensValues | null
  /** That axis has its room, also before there is an answer. */
  hasLens: boolean
  /** Heights of an outline over the bars, on their axis; null where there is none. */
  ghost: number[] | null
  /** The part on the baseline must not vanish, however little it is. */
  alarm: boolean
  view: Span
  zone: number
  /** Nothing has arrived yet after this time; null when all is there. */
  missingFrom: number | null
  /** What to call the part that is missing. */
  missingWords: string
}

export interface PlotEvents {
  /** The bin under the pointer, or null. */
  hover(bin: number | null): void
  /** Dragged over; with Shift it is meant to be looked at, not to be zoomed into. */
  select(span: Span, shift: boolean): void
  out(): void
}

/** The tokens of app.css as the canvas needs them: computed for the theme on the screen. */
function colours(host: HTMLElement, looks: Look[]) {
  const probe = document.createElement('i')
  host.append(probe)
  const read = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const all = {
    parts: looks.map(({ colour }) => read(`--${colour}`)),
    ink: read('--ink-3'),
    line: read('--ink'),
    ghost: read('--accent'),
    ground: read('--ground'),
    rule: read('--rule'),
    strong: read('--rule-strong'),
    sans: getComputedStyle(host).fontFamily,
  }
  probe.remove()
  return all
}

const tight = uPlot.paths.bars?.({ size: [1, Infinity], align: 1 })
const gapped = uPlot.paths.bars?.({ size: [1, Infinity], align: 1, gap: 1 })
const gapFromPx = 5

/** The width of a y axis: what the bars do not have. */
export const axisPx = 52

/** The room above the bars where axes are named. */
const namedPx = 24

/** The room beside the bars: that of their axis, and that of a lens. */
export const besidePx = (hasLens: boolean) => (hasLens ? 2 * axisPx : axisPx)

/** The height of the bars' part, in pixels of the page. */
const plotHeight = (u: uPlot) => u.bbox.height / devicePixelRatio || 160

export class Plot {
  private readonly plot: uPlot
  private paint: ReturnType<typeof colours>
  /** What lies over the bars: the bin pointed at, the span being chosen, the span that was chosen. */
  private readonly overlays: Record<'mark' | 'range' | 'kept', { element: HTMLElement; span: Span | null }>
  private highest = 1
  /** How the parts are filled, in the colours of now. */
  private readonly fills = new Map<string, string | CanvasPattern>()
  private shift = false

  constructor(
    private readonly host: HTMLElement,
    private scene: Scene,
    private readonly on: PlotEvents,
  ) {
    this.paint = colours(host, scene.looks)
    this.plot = new uPlot(this.options(), this.data(), host)
    this.touches()
    this.overlays = { kept: this.overlay('kept'), range: this.overlay('range'), mark: this.overlay('mark') }
  }

  show(scene: Scene): void {
    this.scene = scene
    this.plot.setData(this.data())
  }

  resize(width: number, height: number): void {
    this.plot.setSize({ width, height })
  }

  /** After a change of theme. */
  repaint(): void {
    this.paint = colours(this.host, this.scene.looks)
    this.fills.clear()
    this.plot.redraw(true, true)
  }

  /** Marks a bin, the bins of a span that is being chosen, and those of one that was. */
  point(bin: number | null, choosing: Span | null, chosen: Span | null): void {
    const { bins } = this.scene
    const at = bin === null ? undefined : bins.at[bin]
    this.overlays.mark.span = at === undefined ? null : { from: at, to: at + bins.seconds }
    this.overlays.range.span = choosing
    this.overlays.kept.span = chosen
    this.placeOverlays()
  }

  /** What is drawn, as a picture. */
  canvas(): HTMLCanvasElement {
    return this.plot.ctx.canvas
  }

  /** As they are on the screen now. */
  colours() {
    const { parts, ink, ground, ghost } = this.paint
    return { colours: parts, ink, ground, outline: ghost }
  }

  destroy(): void {
    this.plot.destroy()
  }

  /** uPlot knows the mouse only: a finger drawn sideways chooses a span too; up and down it scrolls the page. */
  private touches(): void {
    const { over } = this.plot
    let from: number | null = null
    const at = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left
    over.addEventListener('pointerdown', (event) => {
      from = event.pointerType === 'touch' && event.isPrimary ? at(event) : null
    })
    over.addEventListener('pointermove', (event) => {
      if (from === null) return
      const [left, right] = [Math.min(from, at(event)), Math.max(from, at(event))]
      this.plot.setSelect({ left, top: 0, width: right - left, height: over.clientHeight }, false)
    })
    over.addEventListener('pointerup', () => {
      if (from !== null) this.selected(this.plot)
      from = null
    })
    over.addEventListener('pointercancel', () => {
      from = null
      this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    })
  }

  private overlay(name: string) {
    const element = document.createElement('div')
    element.className = `overlay ${name}`
    element.hidden = true
    this.plot.over.prepend(element)
    return { element, span: null }
  }

  private placeOverlays(): void {
    for (const { element, span } of Object.values(this.overlays ?? {})) {
      element.hidden = span === null
      if (span === null) continue
      const left = Math.max(0, this.plot.valToPos(span.from, 'x'))
      const right = Math.min(this.plot.over.clientWidth, this.plot.valToPos(span.to, 'x'))
      element.hidden = right <= left
      element.style.left = `${left}px`
      element.style.width = `${Math.max(1, right - left)}px`
    }
  }

  /** The tallest stack first: the lower ones are painted over it. */
  private data(): uPlot.AlignedData {
    const top = this.scene.heights[this.scene.heights.length - 1] ?? []
    const all = [...top, ...(this.scene.ghost ?? [])]
    this.highest = all.reduce((most, height) => Math.max(most, height), 0)
    return [this.scene.bins.at, ...[...this.scene.heights].reverse()]
  }

  private options(): uPlot.Options {
    const font = `12px ${this.paint.sans}`
    const parts = this.scene.looks.length
    const reversed = this.scene.looks.map((_, index) => parts - 1 - index)
    return {
      width: this.host.clientWidth || 300,
      height: this.host.clientHeight || 200,
      padding: [this.scene.isLog || this.scene.hasLens ? namedPx : 8, 0, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        x: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: {
          dblclick: () => () => (this.on.out(), null),
          mousedown: (_, __, handle) => (event) => {
            this.shift = event.shiftKey
            return handle(event)
          },
        },
      },
      scales: {
        x: { time: false, range: () => [this.scene.view.from, this.scene.view.to] },
        y: { range: () => [0, Math.max(this.scene.isLog ? 0.3 : 1, this.highest * 1.04)] },
        lens: { range: () => this.lensRange() },
      },
      axes: [
        {
          font,
          size: 44,
          gap: 4,
          stroke: () => this.paint.ink,
          grid: { show: false },
          ticks: { stroke: () => this.paint.strong, width: 1, size: 4 },
          splits: (u) => this.ticks(u).map((tick) => tick.at),
          values: (u) =>
            this.ticks(u).map((tick) => (tick.above ? `${tick.label}\n${tick.above}` : tick.label)),
        },
        {
          font,
          size: axisPx,
          gap: 4,
          stroke: () => this.paint.ink,
          grid: { stroke: () => this.paint.rule, width: 1 },
          ticks: { show: false },
          splits: (u) => this.hitTicks(u).map((tick) => tick.at),
          values: (u) => this.hitTicks(u).map((tick) => tick.label),
        },
        ...(this.scene.hasLens ? [this.lensAxis(font)] : []),
      ],
      series: [
        {},
        ...reversed.map((index) => ({
          fill: (u: uPlot) => this.fill(u, index),
          width: 0,
          points: { show: false },
          paths: (u: uPlot, series: number, from: number, to: number) =>
            (this.binWidth(u) >= gapFromPx ? gapped : tight)?.(u, series, from, to) ?? null,
        })),
      ],
      hooks: {
        drawClear: [(u) => this.drawMissing(u)],
        draw: [
          (u) => {
            this.drawFewErrors(u)
            this.drawGhost(u)
            this.drawLens(u)
            this.drawAxisNames(u)
            this.drawMissingWords(u)
            this.placeOverlays()
          },
        ],
        setCursor: [(u) => this.on.hover(this.binAt(u))],
        setSelect: [(u) => this.selected(u)],
      },
    }
  }

  private lensAxis(font: string): uPlot.Axis {
    return {
      scale: 'lens',
      side: 1,
      font,
      size: axisPx,
      gap: 4,
      stroke: () => this.paint.ink,
      grid: { show: false },
      ticks: { show: false },
      splits: (u) => this.lensTicks(u).map((tick) => tick.at),
      values: (u) => this.lensTicks(u).map((tick) => tick.label),
    }
  }

  private hitTicks(u: uPlot) {
    return hitTicks(this.highest, plotHeight(u), this.scene.isLog)
  }

  private lensTicks(u: uPlot) {
    const { lens } = this.scene
    return lens === null ? [] : lensTicks(lens, plotHeight(u))
  }

  private lensRange(): [number, number] {
    const { lens } = this.scene
    if (lens === null) return [0, 1]
    const [least, most] = lensExtent(lens)
    return [least, most + (most - least) * 0.04]
  }

  private fill(u: uPlot, index: number): string | CanvasPattern {
    const key = `${index} ${devicePixelRatio}`
    const made = this.fills.get(key)
    if (made !== undefined) return made
    const texture = this.scene.looks[index]?.texture ?? 'plain'
    const { parts, ground } = this.paint
    const fill = textured(u.ctx, texture, parts[index] ?? '', ground, devicePixelRatio)
    this.fills.set(key, fill)
    return fill
  }

  private ticks(u: uPlot) {
    const { view, zone } = this.scene
    const width = u.width - besidePx(this.scene.hasLens)
    // A label at the very end would be cut.
    const last = view.to - (20 * (view.to - view.from)) / width
    return timeTicks(view, width, zone).filter((tick) => tick.at <= last)
  }

  private binWidth(u: uPlot): number {
    const { bins, view } = this.scene
    return ((u.width - besidePx(this.scene.hasLens)) * bins.seconds) / (view.to - view.from)
  }

  private binAt(u: uPlot): number | null {
    const left = u.cursor.left ?? -1
    if (left < 0) return null
    const { bins } = this.scene
    const bin = Math.floor((u.posToVal(left, 'x') - (bins.at[0] ?? 0)) / bins.seconds)
    return bin >= 0 && bin < bins.at.length ? bin : null
  }

  private selected(u: uPlot): void {
    const { left, width } = u.select
    if (width < 4) return
    const span = { from: u.posToVal(left, 'x'), to: u.posToVal(left + width, 'x') }
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    this.on.select(span, this.shift)
  }

  /** Hatching where the log has not arrived yet. */
  private drawMissing(u: uPlot): void {
    const { missingFrom, view } = this.scene
    if (missingFrom === null || missingFrom >= view.to) return
    const { ctx, bbox } = u
    const left = Math.max(bbox.left, u.valToPos(missingFrom, 'x', true))
    const right = bbox.left + bbox.width
    if (right - left < 2) return
    const step = 8 * devicePixelRatio
    ctx.save()
    ctx.beginPath()
    ctx.rect(left, bbox.top, right - left, bbox.height)
    ctx.clip()
    ctx.strokeStyle = this.paint.rule
    ctx.lineWidth = devicePixelRatio
    ctx.beginPath()
    for (let x = Math.floor(left / step) * step; x < right + bbox.height; x += step) {
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x - bbox.height, bbox.top + bbox.height)
    }
    ctx.stroke()
    ctx.restore()
  }

  /** The outline of other bars, on a casing that parts it from these. */
  private drawGhost(u: uPlot): void {
    const { ghost, bins } = this.scene
    if (ghost === null || ghost.every((height) => height === 0)) return
    const { ctx, bbox } = u
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    ctx.lineJoin = 'miter'
    ctx.beginPath()
    for (const { at, height } of skyline(bins, ghost))
      ctx.lineTo(u.valToPos(at, 'x', true), u.valToPos(height, 'y', true))
    this.strokeCased(ctx, this.paint.ghost)
    ctx.restore()
  }

  private strokeCased(ctx: CanvasRenderingContext2D, line: string): void {
    for (const [colour, width] of [
      [this.paint.ground, 4.5],
      [line, 2],
    ] as const) {
      ctx.strokeStyle = colour
      ctx.lineWidth = width * devicePixelRatio
      ctx.stroke()
    }
  }

  /** A line through the middles of the bars, on a casing that parts it from them; a bar without a value breaks it. */
  private drawLens(u: uPlot): void {
    const { lens, bins } = this.scene
    if (lens === null) return
    const { ctx, bbox } = u
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top - 4 * devicePixelRatio, bbox.width, bbox.height + 8 * devicePixelRatio)
    ctx.clip()
    ctx.lineJoin = ctx.lineCap = 'round'
    ctx.beginPath()
    lens.values.forEach((value, bin) => {
      if (value === null) return
      const x = u.valToPos((bins.at[bin] ?? 0) + bins.seconds / 2, 'x', true)
      const y = u.valToPos(value, 'lens', true)
      if ((lens.values[bin - 1] ?? null) === null) ctx.moveTo(x, y)
      // A value between two gaps is a dot.
      ctx.lineTo(x, y)
    })
    this.strokeCased(ctx, this.paint.line)
    ctx.restore()
  }

  /** Above the axes, where nothing else is. */
  private drawAxisNames(u: uPlot): void {
    const { isLog, lens } = this.scene
    const { ctx, bbox } = u
    const px = devicePixelRatio
    const y = bbox.top - 16 * px
    ctx.save()
    ctx.font = `${12 * px}px ${this.paint.sans}`
    ctx.fillStyle = this.paint.ink
    ctx.textBaseline = 'middle'
    ctx.textAlign = 'right'
    if (isLog) ctx.fillText('log', bbox.left - 8 * px, y)
    if (lens) ctx.fillText(lensTitle(lens.metric), bbox.left + bbox.width + axisPx * px, y)
    ctx.restore()
  }

  private drawMissingWords(u: uPlot): void {
    const { missingFrom, missingWords } = this.scene
    if (missingFrom === null) return
    const { ctx, bbox } = u
    const right = bbox.left + bbox.width
    const px = devicePixelRatio
    ctx.save()
    ctx.font = `${12 * px}px ${this.paint.sans}`
    const width = ctx.measureText(missingWords).width + 16 * px
    if (right - u.valToPos(missingFrom, 'x', true) < width) return ctx.restore()
    ctx.fillStyle = this.paint.ground
    ctx.fillRect(right - width, bbox.top + 8 * px, width, 20 * px)
    ctx.fillStyle = this.paint.ink
    ctx.textAlign = 'right'
    ctx.textBaseline = 'top'
    ctx.fillText(missingWords, right - 8 * px, bbox.top + 12 * px)
    ctx.restore()
  }

  /** A single server error must not vanish below a pixel: wherever there is one, the baseline is at least 2 px red. */
  private drawFewErrors(u: uPlot): void {
    const { bins, heights, alarm } = this.scene
    if (!alarm) return
    const bottom = u.bbox.top + u.bbox.height
    const least = 2 * devicePixelRatio
    const { ctx } = u
    ctx.save()
    ctx.beginPath()
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height)
    ctx.clip()
    ctx.fillStyle = this.paint.parts[0] ?? ''
    bins.at.forEach((at, bin) => {
      if (!heights[0]?.[bin]) return
      const left = Math.round(u.valToPos(at, 'x', true))
      const right = Math.round(u.valToPos(at + bins.seconds, 'x', true))
      ctx.fillRect(left, bottom - least, Math.max(1, right - left), least)
    })
    ctx.restore()
  }
}
