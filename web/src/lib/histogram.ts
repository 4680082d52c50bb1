/** The time histogram without a screen: bins, stacks, ticks, spans and their words. */

import { count } from './format'
import type { Histogram, Series } from './viewapi'

/** Half open, in Unix seconds: [from, to). */
export interface Span {
  from: number
  to: number
}

/**
 * From the baseline upwards. Errors stand on the baseline, where the eye compares heights best; the many
 * successes ride on top of them.
 */
export const classes = ['5xx', '4xx', 'other', '3xx', '2xx']

/** Every bucket of a span, the empty ones too; `hits` has one array per entry of `names`, from the baseline upwards. */
export interface Bins {
  seconds: number
  at: number[]
  /** Values of the field stacked by; null: all others. */
  names: (string | null)[]
  hits: number[][]
}

/** Values as they stand on each other: classes by their meaning, others as the server ranks them, the rest on top. */
export function stacked({ stack, series }: Histogram): Series[] {
  if (stack !== 'class') {
    return [...series].sort((a, b) => Number(a.value === null) - Number(b.value === null))
  }
  const found = (name: string) => series.find(({ value }) => value === name)?.hits ?? []
  return classes.map((value) => ({ value, hits: found(value) }))
}

export function nameOf(name: string | null): string {
  if (name === null) return 'others'
  return name === '' ? '(none)' : name
}

/** A mistaken clock in one line must not make us build millions of bins. */
const binsMax = 4096

const floorTo = (value: number, step: number) => Math.floor(value / step) * step
const ceilTo = (value: number, step: number) => Math.ceil(value / step) * step

/** Widths that divide hours and days as people do. */
const widths = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 28800, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000,
]

/** The width for at most `buckets` bins over a span: a whole multiple of what the server sent, if possible a usual one. */
export function widthFor(span: Span, bucketSeconds: number, buckets: number): number {
  const least = Math.max(bucketSeconds, (span.to - span.from) / Math.max(1, Math.min(buckets, binsMax)))
  if (least <= bucketSeconds) return bucketSeconds
  return widths.find((width) => width >= least && width % bucketSeconds === 0) ?? ceilTo(least, bucketSeconds)
}

/** Fills the gaps of a sparse histogram with zeros and joins buckets where there is no room for all of them. */
export function fill(histogram: Histogram, span: Span, buckets: number): Bins {
  const seconds = widthFor(span, histogram.bucket_seconds, buckets)
  const first = floorTo(span.from, seconds)
  const length = Math.max(1, Math.round((ceilTo(span.to, seconds) - first) / seconds))
  const at = Array.from({ length }, (_, index) => first + index * seconds)
  const series = stacked(histogram)
  const hits = series.map(({ hits: from }) => {
    const into = new Array<number>(length).fill(0)
    histogram.at.forEach((start, index) => {
      const bin = Math.floor((start - first) / seconds)
      if (bin >= 0 && bin < length) into[bin] = (into[bin] ?? 0) + (from[index] ?? 0)
    })
    return into
  })
  return { seconds, at, names: series.map(({ value }) => value), hits }
}

/** Heights to draw: each series on top of those before it. */
export function stack(bins: Bins): number[][] {
  const sum = new Array<number>(bins.at.length).fill(0)
  return bins.hits.map((hits) => hits.map((hit, bin) => (sum[bin] = (sum[bin] ?? 0) + hit)))
}

/**
 * The same where a bar is as high as the logarithm of all that it counts: its parts share that height as they share
 * the hits, so that a part of the height is not the logarithm of the part.
 */
export function logStack(bins: Bins): number[][] {
  const all = bins.at.map((_, bin) => total(bins, bin))
  const parts = all.map((hits) => (hits > 0 ? logHeight(hits) / hits : 0))
  return stack(bins).map((tops) => tops.map((top, bin) => top * (parts[bin] ?? 0)))
}

/** The height of a bar on a logarithmic scale; one hit can be seen, and none has no height. */
export const logHeight = (hits: number) => Math.log10(1 + hits)

export function total(bins: Bins, bin: number): number {
  return bins.hits.reduce((sum, hits) => sum + (hits[bin] ?? 0), 0)
}

/** `hour`, `minute`, `15 minutes`: what one bar counts. */
export function widthTitle(seconds: number): string {
  const units: [number, string][] = [
    [604800, 'week'],
    [86400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ]
  for (const [size, name] of units) {
    if (seconds === size) return name
    if (seconds > size && seconds % size === 0) return `${count(seconds / size)} ${name}s`
  }
  return `${seconds} seconds`
}

/** The span of a histogram that is zoomed out: all its buckets whole. */
export function wholeSpan(histogram: Pick<Histogram, 'at' | 'bucket_seconds'>): Span | null {
  const first = histogram.at[0]
  const last = histogram.at[histogram.at.length - 1]
  if (first === undefined || last === undefined) return null
  return { from: first, to: last + histogram.bucket_seconds }
}

/** Outwards to whole buckets, so that no bar is cut. */
export function snap(span: Span, seconds: number): Span {
  const from = floorTo(span.from, seconds)
  return { from, to: Math.max(from + seconds, ceilTo(span.to, seconds)) }
}

/** The span scaled about a point, kept inside the whole and not below one second. */
export function scale(span: Span, whole: Span, about: number, factor: number): Span {
  const width = Math.min(whole.to - whole.from, Math.max(1, (span.to - span.from) * factor))
  const share = (about - span.from) / (span.to - span.from)
  const from = Math.min(Math.max(whole.from, about - width * share), whole.to - width)
  return { from, to: from + width }
}

/**
 * Where the axis ends while the log still arrives: what came so far covers `fraction` of the bytes, so the rest
 * probably covers the rest of the time. The guess moves in whole steps only (when data passes it, or when it was
 * far off), never with every update: the axis must not breathe.
 */
export function arrivingEnd(previous: number | null, span: Span, fraction: number | null): number {
  const seen = span.to - span.from
  const guess = fraction === null ? seen * 1.25 : Math.min(seen / Math.max(fraction, 0.01), seen * 20)
  const kept = previous === null ? 0 : previous - span.from
  const holds = kept >= seen && kept < guess * 1.5 && kept > guess * 0.75
  return holds && previous !== null ? previous : span.from + guess
}

export interface Tick {
  at: number
  label: string
  /** The larger unit, at the first tick and where it changes: the date under the hour. */
  above: string
}

const ticks = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000,
  604800, 1209600,
]
const monthTicks = [1, 2, 3, 6, 12, 24, 60, 120]
const tickWidth = 84
const monthSeconds = 2629746

/** Round times in the given zone, as many as fit the width. */
export function timeTicks(span: Span, width: number, zone: number): Tick[] {
  const least = ((span.to - span.from) * tickWidth) / Math.max(width, tickWidth)
  const step = ticks.find((candidate) => candidate >= least)
  const at = step === undefined ? monthStarts(span, least, zone) : dayParts(span, step, zone)
  let before = ''
  return at.map((time) => {
    const { label, above } = tickLabel(time + zone, step ?? monthSeconds)
    const changed = above !== before
    before = above
    return { at: time, label, above: changed ? above : '' }
  })
}

function dayParts(span: Span, step: number, zone: number): number[] {
  const first = ceilTo(span.from + zone, step) - zone
  const length = Math.max(0, Math.floor((span.to - first) / step) + 1)
  return Array.from({ length }, (_, index) => first + index * step)
}

function monthStarts(span: Span, least: number, zone: number): number[] {
  const months = monthTicks.find((candidate) => candidate * monthSeconds >= least) ?? 240
  const start = new Date((span.from + zone) * 1000)
  const starts: number[] = []
  let month = floorTo(start.getUTCFullYear() * 12 + start.getUTCMonth(), months)
  for (;;) {
    const time = Date.UTC(Math.floor(month / 12), month % 12) / 1000 - zone
    if (time > span.to) return starts
    if (time >= span.from) starts.push(time)
    month += months
  }
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number) => String(value).padStart(2, '0')

function parts(shifted: number) {
  const date = new Date(shifted * 1000)
  return {
    year: String(date.getUTCFullYear()),
    month: monthNames[date.getUTCMonth()] ?? '',
    day: two(date.getUTCDate()),
    minute: `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`,
    second: two(date.getUTCSeconds()),
  }
}

function tickLabel(shifted: number, step: number): { label: string; above: string } {
  const { year, month, day, minute, second } = parts(shifted)
  if (step >= monthSeconds) return { label: month, above: year }
  if (step >= 86400) return { label: `${day} ${month}`, above: year }
  if (step >= 60) return { label: minute, above: `${day} ${month} ${year}` }
  return { label: `${minute}:${second}`, above: `${day} ${month} ${year}` }
}

/** `UTC`, `UTC+02:00`. */
export function zoneTitle(zone: number): string {
  if (zone === 0) return 'UTC'
  const minutes = Math.round(Math.abs(zone) / 60)
  return `UTC${zone < 0 ? '−' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** `01 Jan 2025 00:00`, with seconds only where the bucket needs them. */
export function moment(time: number, zone: number, seconds: number): string {
  const { year, month, day, minute, second } = parts(time + zone)
  const date = `${day} ${month} ${year}`
  if (seconds % 86400 === 0 && (time + zone) % 86400 === 0) return date
  return seconds % 60 === 0 ? `${date} ${minute}` : `${date} ${minute}:${second}`
}

/** A span in words; the end is named without its date when the date is the same. */
export function spanTitle(span: Span, zone: number, seconds: number): string {
  const from = moment(span.from, zone, seconds)
  const to = moment(span.to, zone, seconds)
  const sameDay = from.slice(0, 11) === to.slice(0, 11) && to.length > 11
  return `${from} – ${sameDay ? to.slice(12) : to}`
}

/** The same without the year, for a log that is of one year only. */
export function shortSpanTitle(span: Span, whole: Span | null, zone: number): string {
  const title = spanTitle(span, zone, 60)
  const yearOf = (time: number) => parts(time + zone).year
  const isOneYear = whole !== null && yearOf(whole.from) === yearOf(whole.to - 1)
  return isOneYear ? title.replace(/(\d\d [A-Z][a-z]{2}) \d{4}/g, '$1') : title
}

/** A span with as much beside it that it can be seen for what it is, within the whole. */
export function around(span: Span, whole: Span | null): Span {
  const beside = 3 * Math.max(span.to - span.from, 60)
  return {
    from: Math.max(span.from - beside, whole?.from ?? -Infinity),
    to: Math.min(span.to + beside, whole?.to ?? Infinity),
  }
}

/** What a bucket says aloud and in the hover line. */
export function binTitle(bins: Bins, bin: number, zone: number): string {
  const from = bins.at[bin]
  if (from === undefined) return ''
  const by = bins.names
    .map((name, index) => ({ name, hits: bins.hits[index]?.[bin] ?? 0 }))
    .filter(({ hits }) => hits > 0)
    .reverse()
    .map(({ name, hits }) => `${nameOf(name)} ${count(hits)}`)
  const when = spanTitle({ from, to: from + bins.seconds }, zone, bins.seconds)
  return [when, `${count(total(bins, bin))} requests`, ...by].join(', ')
}

export const sameSpan = (a: Span | null, b: Span | null) => a?.from === b?.from && a?.to === b?.to

/** Whether `outer` has all of `inner`; null is everything. */
export const covers = (outer: Span | null, inner: Span | null) =>
  outer === null || (inner !== null && outer.from <= inner.from && outer.to >= inner.to)

/** As long, and just before. */
export const before = ({ from, to }: Span): Span => ({ from: from - (to - from), to: from })

export const shifted = ({ from, to }: Span, seconds: number): Span => ({
  from: from + seconds,
  to: to + seconds,
})

/** A value of a y axis, at its height. */
export interface ValueTick {
  at: number
  label: string
}

/** The least round number that is not below. */
export function stepAtLeast(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= least) ?? 10 * power
}

/** Round values up to the largest, few: the y axis. */
export function countTicks(max: number, height: number): number[] {
  if (max <= 0) return [0]
  const step = Math.max(1, stepAtLeast(max / Math.max(1, Math.floor(height / 40))))
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step)
}

/** Labels nearer to each other than this run into each other. */
const logTickPx = 18

/** Powers of ten up to the largest count, and where there is room what lies between them. */
export function logTicks(max: number, height: number): number[] {
  if (max <= 0) return [0]
  const powers = Array.from({ length: Math.floor(Math.log10(max)) + 1 }, (_, power) => 10 ** power)
  const px = (value: number) => (logHeight(value) / logHeight(max)) * height
  const kept = [0]
  for (const value of [...powers, ...powers.map((power) => 3 * power)]) {
    if (value <= max && kept.every((other) => Math.abs(px(value) - px(other)) >= logTickPx)) kept.push(value)
  }
  return kept.sort((a, b) => a - b)
}

/** The y axis of bars whose highest is so high, on either scale. */
export function hitTicks(highest: number, height: number, isLog: boolean): ValueTick[] {
  if (!isLog) return countTicks(highest, height).map((value) => ({ at: value, label: short(value) }))
  const most = Math.round(10 ** highest - 1)
  return logTicks(most, height).map((value) => ({ at: logHeight(value), label: short(value) }))
}

/** `12k`, `1.5M`: the y axis has little room. */
export function short(value: number): string {
  if (value >= 1e9) return `${+(value / 1e9).toFixed(2)}G`
  if (value >= 1e6) return `${+(value / 1e6).toFixed(2)}M`
  return value >= 1e4 ? `${+(value / 1e3).toFixed(1)}k` : count(value)
}
