/** What could come next in a filter that is being typed: a field, a comparison, a value seen in the view. */

import { allFields, fieldOf } from './fields'
import { tokens, written, writtenField, type Token } from './filter'

export interface Option {
  /** What is put in. */
  text: string
  about: string
}

export interface Completion {
  /** The part of the text that an option takes the place of. */
  from: number
  to: number
  options: Option[]
}

const optionsMax = 12
const none = (at: number): Completion => ({ from: at, to: at, options: [] })

const textOperators: Option[] = [
  { text: '=', about: 'is' },
  { text: '!=', about: 'is not' },
  { text: 'contains', about: 'has this text in it' },
  { text: '~', about: 'matches a regular expression' },
  { text: '!~', about: 'does not match' },
  { text: 'in (', about: 'is one of several' },
  { text: 'has', about: 'a list with this element' },
  { text: 'exists', about: 'has a value' },
]
const numberOperators: Option[] = [
  { text: '=', about: 'is' },
  { text: '!=', about: 'is not' },
  { text: '>=', about: 'at least' },
  { text: '<=', about: 'at most' },
  { text: '>', about: 'above' },
  { text: '<', about: 'below' },
  { text: 'exists', about: 'has a number' },
]

const isWord = (token: Token | undefined, ...words: string[]) =>
  token?.kind === 'word' && words.includes(token.text.toLowerCase())

/** What may follow at the caret. `valuesOf` tells the frequent values of a field. */
export function complete(text: string, caret: number, valuesOf: (field: string) => string[]): Completion {
  const all = tokens(text.slice(0, caret))
  const last = all[all.length - 1]
  const typing = last !== undefined && last.to === caret && last.kind !== 'mark' ? last : null
  const before = typing ? all.slice(0, -1) : all
  const from = typing?.from ?? caret
  const offered = offers(before, valuesOf)
  const begun = text.slice(from, caret).replace(/^"/, '').toLowerCase()
  // A name or comparison that is complete needs no list; nor does a text behind which a space was typed.
  const options = offered
    .filter((option) => option.text.replace(/^"/, '').toLowerCase().includes(begun))
    .sort((a, b) => Number(starts(b, begun)) - Number(starts(a, begun)))
    .slice(0, optionsMax)
  if (options.length === 0) return none(caret)
  if (options.length === 1 && options[0]?.text.toLowerCase() === begun) return none(caret)
  return { from, to: caret, options }
}

const starts = (option: Option, begun: string) =>
  option.text.replace(/^"/, '').toLowerCase().startsWith(begun)

function offers(before: Token[], valuesOf: (field: string) => string[]): Option[] {
  const last = before[before.length - 1]
  const field = fieldBefore(before)
  if (last === undefined || isWord(last, 'and', 'or', 'not') || (last.text === '(' && !inList(before))) {
    return allFields().map(({ name, hint }) => ({ text: writtenField(name), about: hint }))
  }
  if (field === null) return joins
  const isOperand = last.kind === 'mark' || isWord(last, 'contains', 'has')
  if (isOperand && last.text !== ')') return values(field, valuesOf)
  if (isField(last) && before.length === fieldAt(before) + 1) {
    return operators(field)
  }
  return joins
}

const joins: Option[] = [
  { text: 'and', about: 'both' },
  { text: 'or', about: 'at least one' },
]

function operators(field: string): Option[] {
  const kind = fieldOf(field)?.kind
  if (kind === 'flag') return joins
  const own = kind === 'number' ? numberOperators : textOperators
  return field === 'bot' ? [...own, ...joins] : own
}

function values(field: string, valuesOf: (field: string) => string[]): Option[] {
  const seen = valuesOf(field).map((value) => ({ text: written(field, value), about: '' }))
  return seen.length > 0 ? seen : []
}

/** Where the field of the clause being typed stands. */
function fieldAt(before: Token[]): number {
  for (let at = before.length - 1; at >= 0; at--) {
    const token = before[at]
    if (isWord(token, 'and', 'or')) return -1
    if (isField(token) && startsClause(before[at - 1])) return at
  }
  return -1
}

const isField = (token: Token | undefined) =>
  (token?.kind === 'word' || token?.kind === 'quoted') && fieldOf(token.text) !== null

const startsClause = (token: Token | undefined) =>
  token === undefined || isWord(token, 'and', 'or', 'not') || token.text === '('

function fieldBefore(before: Token[]): string | null {
  const token = before[fieldAt(before)]
  return token ? (fieldOf(token.text)?.name ?? null) : null
}

function inList(before: Token[]): boolean {
  return isWord(before[before.length - 2], 'in')
}

/** The text and the caret once an option is taken. A space follows, except behind an opening parenthesis. */
export function take(text: string, completion: Completion, option: Option): { text: string; caret: number } {
  const space = option.text.endsWith('(') ? '' : ' '
  const put = option.text + space
  const rest = text.slice(completion.to)
  return {
    text: text.slice(0, completion.from) + put + (space ? rest.trimStart() : rest),
    caret: completion.from + put.length,
  }
}
