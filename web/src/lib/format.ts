/** Numbers and text as people read them. Digits only ever in one width: pair with tabular figures. */

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
const decimal = ['B/s', 'kB/s', 'MB/s', 'GB/s']

/** Three significant figures, so that a changing number does not change its width much. */
function scaled(value: number, step: number, units: string[]): string {
  let unit = 0
  while (value >= step * 0.9995 && unit < units.length - 1) {
    value /= step
    unit++
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
  return `${value.toFixed(digits)} ${units[unit] ?? ''}`
}

/** Sizes in powers of 1024: `1.50 GiB`. */
export const bytes = (value: number) => scaled(value, 1024, binary)

/** Rates in powers of 1000, as drives and networks state theirs: `412 MB/s`. */
export const rate = (value: number) => scaled(value, 1000, decimal)

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

export const count = (value: number) => grouped.format(value)

/** `1 line`, `2,000 lines`. */
export const plural = (value: number, noun: string, nouns = `${noun}s`) =>
  `${count(value)} ${value === 1 ? noun : nouns}`

/** A share as a percentage; never rounds something to nothing, nor less than all to all. */
export function share(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return '0 %'
  const percent = (100 * part) / whole
  if (percent < 0.001) return '< 0.001 %'
  if (percent < 0.095) return `${Number(percent.toPrecision(1))} %`
  if (percent >= 100) return '100 %'
  if (percent > 99.9) return '> 99.9 %'
  return `${percent.toFixed(1)} %`
}

/** The length of a bar (`.filled`) as the size of a background, to a tenth of a per cent: less is no pixel. */
export const barSize = (part: number) => `${Number((100 * part).toFixed(1))}% calc(100% - 6px)`

/** Progress in whole per cent, 100 only at the very end. */
export function percent(part: number, whole: number | null): string | null {
  if (whole === null || whole <= 0) return null
  return `${Math.min(part >= whole ? 100 : 99, Math.floor((100 * part) / whole))} %`
}

/** `1.4 s`, `38 s`, `2 min 05 s`, `3 h 12 min`, `4 d 2 h`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const two = (value: number) => String(value).padStart(2, '0')
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`
}

/** A measured time in seconds: `0.8 ms`, `12 ms`, `1.20 s`. */
export function latency(seconds: number): string {
  const ms = seconds * 1000
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${ms.toFixed(0)} ms`
  return seconds < 99.95 ? `${seconds.toPrecision(3)} s` : duration(seconds)
}

/** A relative error: `± 1.6 %`. */
export const relative = (error: number) => `± ${(error * 100).toPrecision(2)} %`

/** The end of a path, by which files of one folder are told apart, where all of it has no room. */
export function pathEnd(path: string, most = 22): string {
  if (path.length <= most) return path
  const parts = path.split('/')
  let end = parts.pop() ?? ''
  while (parts.length > 0 && end.length + (parts.at(-1)?.length ?? 0) + 3 <= most)
    end = `${parts.pop()}/${end}`
  if (end.length + 2 <= most) return `…/${end}`
  return `…${end.slice(1 - most)}`
}

/**
 * Log text made visible: control characters as their pictures, and the invisible characters that turn the
 * direction of text as escapes, so that a line cannot pretend to be another.
 */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => {
      const code = c.charCodeAt(0)
      if (code < 0x20) return String.fromCharCode(0x2400 + code)
      if (code === 0x7f) return '\u2421'
      return `\\u${code.toString(16).padStart(4, '0')}`
    },
  )
}
