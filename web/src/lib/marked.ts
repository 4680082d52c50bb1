/** The lines that stand out in the table: by a mark of the reader's, and by a text that is looked for. */

import { tokens } from './filter'

/** Marks at most: the address has them all. */
export const marksMax = 100

export const isPlace = (text: string) => /^\d{1,10}(\.\d{1,20}){3}$/.test(text)

/** The marks with one more, or without it; null where there are too many. */
export function turnedMark(marks: string[], place: string): string[] | null {
  if (marks.includes(place)) return marks.filter((mark) => mark !== place)
  return marks.length >= marksMax ? null : [...marks, place]
}

/** A text that is looked for. */
export interface Needle {
  text: string
  /** Letters are looked for as they are written. */
  exact: boolean
}

/** The filter for lines that have a text, in any case of its letters. */
export const findFilter = (text: string) =>
  `any ~ ${JSON.stringify(`(?i)${text.replace(/[\\.+*?()|[\]{}^$#&\-~]/g, '\\$&')}`)}`

/** The texts that a filter asks for: those are why its lines are shown. */
export function needlesOf(terms: string[]): { needles: Needle[]; terms: string[] } {
  const found = terms.flatMap((term) => {
    const all = tokens(term)
    const [name, operator, value] = all
    if (all.length !== 3 || name?.kind === 'mark' || value?.kind !== 'quoted') return []
    if (operator?.text.toLowerCase() === 'contains')
      return [{ term, needle: { text: value.text, exact: true } }]
    if (operator?.text !== '~' || !value.text.startsWith('(?i)')) return []
    const text = plainOf(value.text.slice(4))
    return text === null ? [] : [{ term, needle: { text, exact: false } }]
  })
  return { needles: found.map(({ needle }) => needle), terms: found.map(({ term }) => term) }
}

/** The text that a regular expression stands for, where it is no more than that. */
function plainOf(pattern: string): string | null {
  const bare = pattern.replace(/\\[^a-z0-9]/gi, '')
  return /[\\.+*?()|[\]{}^$]/.test(bare) ? null : pattern.replace(/\\(.)/g, '$1')
}

/** Where a text has what is looked for: start and end of each match. */
function matches(text: string, needles: Needle[]): [number, number][] {
  const wanted = needles.filter((needle) => needle.text !== '')
  if (wanted.length === 0) return []
  const lower = text.toLowerCase()
  // Some letters change their length: then the places in both texts are not the same.
  const same = lower.length === text.length
  const all: [number, number][] = []
  let at = 0
  while (at < text.length) {
    let next: [number, number] | null = null
    for (const { text: needle, exact } of wanted) {
      const from = exact || !same ? text.indexOf(needle, at) : lower.indexOf(needle.toLowerCase(), at)
      if (from >= 0 && (next === null || from < next[0])) next = [from, from + needle.length]
    }
    if (next === null) break
    all.push(next)
    at = next[1]
  }
  return all
}

/** Parts of a text, of which every second one is a match; the first may be empty. */
export function parts(text: string, needles: Needle[]): string[] {
  const cuts = [0, ...matches(text, needles).flat(), text.length]
  return cuts.slice(1).map((end, index) => text.slice(cuts[index], end))
}

/** Part of a line, and what it is in most formats. */
export interface Piece {
  text: string
  kind: 'key' | 'text' | 'number' | 'time' | null
  found: boolean
}

/** A text in quotes with the colon after a key, a time in brackets, a number by itself. */
const syntax = /"(?:[^"\\]|\\.)*"(\s*:)?|\[[^\][]*\]|(?<![\w./-]|\d:)-?\d+(?:\.\d+)?(?![\w./-]|:\d)/g

/** A line in the parts that logs and JSON are made of, cut where a match begins and ends. */
export function pieces(line: string, needles: Needle[]): Piece[] {
  const tokens = [...line.matchAll(syntax)].map((match): [number, number, Piece['kind']] => {
    const [text, colon] = match
    const first = text.charAt(0)
    const kind = first === '"' ? (colon === undefined ? 'text' : 'key') : first === '[' ? 'time' : 'number'
    return [match.index, match.index + text.length, kind]
  })
  const found = matches(line, needles)
  const cuts = [0, ...found.flat(), ...tokens.flatMap(([from, to]) => [from, to]), line.length]
  const ends = [...new Set(cuts)].sort((a, b) => a - b)
  // Both lists are in order: each is gone through once.
  let [token, match] = [0, 0]
  return ends.slice(1).map((end, index) => {
    const from = ends[index] ?? 0
    while ((tokens[token]?.[1] ?? Infinity) <= from) token++
    while ((found[match]?.[1] ?? Infinity) <= from) match++
    const isIn = (part: readonly [number, ...unknown[]] | undefined) => part !== undefined && part[0] <= from
    return {
      text: line.slice(from, end),
      kind: isIn(tokens[token]) ? (tokens[token]?.[2] ?? null) : null,
      found: isIn(found[match]),
    }
  })
}
