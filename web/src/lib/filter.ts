/**
 * The filter language as far as the page must know it: its words, and the clauses that a click makes. The server
 * alone says what is a filter and what it means; a text this file cannot take apart is kept as it is.
 */

import { fieldOf, isNumeric, ownColumns, tableColumns } from './fields'

export interface Token {
  kind: 'word' | 'quoted' | 'mark' | 'broken'
  text: string
  /** Where it starts and ends in the text, in UTF-16 units as text fields count. */
  from: number
  to: number
}

const marks = ['==', '!=', '!~', '<=', '>=', '=', '~', '<', '>', '(', ')', ',']
const wordEnd = /[\s()",=!~<>]/

/** The words of a filter. What is none (an open quotation mark) is one broken token to the end. */
export function tokens(text: string): Token[] {
  const all: Token[] = []
  let at = 0
  for (;;) {
    while (at < text.length && /\s/.test(text.charAt(at))) at++
    if (at >= text.length) return all
    const token = tokenAt(text, at)
    all.push(token)
    at = token.to
  }
}

function tokenAt(text: string, from: number): Token {
  const mark = marks.find((mark) => text.startsWith(mark, from))
  if (mark !== undefined) return { kind: 'mark', text: mark, from, to: from + mark.length }
  if (text[from] === '"') return quotedAt(text, from)
  let to = from
  while (to < text.length && !wordEnd.test(text.charAt(to))) to++
  if (to === from) return { kind: 'broken', text: text.slice(from), from, to: text.length }
  return { kind: 'word', text: text.slice(from, to), from, to }
}

function quotedAt(text: string, from: number): Token {
  let to = from + 1
  while (to < text.length && text[to] !== '"') to += text[to] === '\\' ? 2 : 1
  const written = text.slice(from, to + 1)
  try {
    return { kind: 'quoted', text: JSON.parse(written) as string, from, to: to + 1 }
  } catch {
    return { kind: 'broken', text: text.slice(from), from, to: text.length }
  }
}

const isWord = (token: Token | undefined, ...words: string[]) =>
  token?.kind === 'word' && words.includes(token.text.toLowerCase())
const isMark = (token: Token | undefined, ...texts: string[]) =>
  token?.kind === 'mark' && texts.includes(token.text)

/** Where the word stands outside of parentheses. */
function outside(all: Token[], word: string): Token[] {
  let depth = 0
  return all.filter((token) => {
    if (isMark(token, '(')) depth++
    else if (isMark(token, ')')) depth--
    return depth === 0 && isWord(token, word)
  })
}

/** The clauses that are joined by `and`; one, where an `or` binds them. */
export function split(text: string): string[] {
  const all = tokens(text)
  if (all.some(({ kind }) => kind === 'broken') || outside(all, 'or').length > 0) return clean([text])
  const ands = outside(all, 'and')
  const starts = [0, ...ands.map(({ to }) => to)]
  return clean(starts.map((start, index) => text.slice(start, ands[index]?.from ?? text.length)))
}

const clean = (terms: string[]) => terms.map((term) => term.trim()).filter((term) => term !== '')

const grouped = (term: string) => (outside(tokens(term), 'or').length > 0 ? `(${term})` : term)

/** One filter of all terms. */
export const whereOf = (terms: string[]) => terms.map(grouped).join(' and ')

/** Which term a column of `whereOf(terms)` lies in, and where in it; both counted from 0, columns in characters. */
export function locate(terms: string[], column: number): { term: number; column: number } | null {
  let start = 0
  for (const [index, term] of terms.entries()) {
    const opened = grouped(term) === term ? 0 : 1
    const length = [...term].length
    const last = index === terms.length - 1
    if (column < start + opened + length + opened + 1 || last) {
      return { term: index, column: Math.min(length, Math.max(0, column - start - opened)) }
    }
    start += length + 2 * opened + ' and '.length
  }
  return null
}

/** A clause that says which values a field may or may not have. */
export interface Choice {
  field: string
  negated: boolean
  values: string[]
}

/** The choice that a term is, or null where it is something else. Flags are choices without values. */
export function choice(term: string): Choice | null {
  const known = choices.get(term)
  if (known !== undefined) return known
  if (choices.size >= choicesMax) choices.clear()
  const read = readChoice(term)
  choices.set(term, read)
  return read
}

/** A press has every panel ask what the same few terms are. */
const choices = new Map<string, Choice | null>()
const choicesMax = 64

function readChoice(term: string): Choice | null {
  const all = tokens(term)
  const not = isWord(all[0], 'not')
  const [name, ...rest] = not ? all.slice(1) : all
  if (name?.kind !== 'word' && (name?.kind !== 'quoted' || ownColumns().length === 0)) return null
  const field = fieldOf(name.text)?.name ?? name.text.toLowerCase()
  if (rest.length === 0) return { field, negated: not, values: [] }
  if (not) return null
  if (isMark(rest[0], '=', '==', '!=') && rest.length === 2) {
    const value = valueOf(rest[1])
    return value === null ? null : { field, negated: isMark(rest[0], '!='), values: [value] }
  }
  const negated = isWord(rest[0], 'not')
  const list = negated ? rest.slice(1) : rest
  if (!isWord(list[0], 'in') || !isMark(list[1], '(') || !isMark(list[list.length - 1], ')')) return null
  const values = listed(list.slice(2, -1))
  return values === null ? null : { field, negated, values }
}

/** The absent value is the empty text; written without quotes it is `-`. */
function valueOf(token: Token | undefined): string | null {
  if (token?.kind === 'quoted') return token.text
  if (token?.kind !== 'word') return null
  return token.text === '-' ? '' : token.text
}

function listed(list: Token[]): string[] | null {
  const values: string[] = []
  for (const [index, token] of list.entries()) {
    if (index % 2 === 1) {
      if (!isMark(token, ',')) return null
      continue
    }
    const value = valueOf(token)
    if (value === null) return null
    values.push(value)
  }
  return list.length % 2 === 1 ? values : null
}

const keywords = ['and', 'or', 'not', 'in', 'contains']

/** A value as the filter language writes it. */
export function written(field: string, value: string): string {
  if (value === '') return '-'
  if (isNumeric(field)) return value
  const plain =
    !/[\s()",=!~<>\p{Cc}]/u.test(value) && value !== '-' && !keywords.includes(value.toLowerCase())
  const isLog = tableColumns() === null
  const network = isLog && field === 'client' && value.includes('/')
  // In small letters it is taken for a mistake.
  const capitals = isLog && (field === 'method' || field === 'country') && value !== value.toUpperCase()
  return plain && !network && !capitals ? value : JSON.stringify(value)
}

/** A field as the filter language writes it: a column of a table may be called anything. */
export const writtenField = (field: string) =>
  /^[\p{L}_@$][\p{L}\p{N}_.@$#/:-]*$/u.test(field) &&
  ![...keywords, 'exists', 'has'].includes(field.toLowerCase())
    ? field
    : JSON.stringify(field)

export function writeChoice({ field: name, negated, values }: Choice): string {
  const all = values.map((value) => written(name, value))
  const field = writtenField(name)
  if (all.length === 0) return negated ? `not ${field}` : field
  if (all.length === 1) return `${field} ${negated ? '!=' : '='} ${all[0]}`
  return `${field} ${negated ? 'not in' : 'in'} (${all.join(', ')})`
}

/** Whether a value is one, and not many at once: as `5xx`, `400..499` and networks are. */
function isSingle(field: string, value: string): boolean {
  if (tableColumns() !== null) return true
  if (field === 'status') return /^\d+$/.test(value)
  return field !== 'client' || !value.includes('/')
}

/** The choice of single values of a field that a term is: the server counts the field's other values beside them. */
function choiceOf(term: string, field: string): Choice | null {
  const found = choice(term)
  const isIt = found?.field === field && found.values.length > 0
  return isIt && found.values.every((value) => isSingle(field, value)) ? found : null
}

/** A server cuts long values and marks the cut: such a value can only be searched for. */
const cutFrom = 1000
const isCut = (value: string) => value.length >= cutFrom && value.endsWith('…')

/** The clause that a click on a value means. */
export function clause(field: string, value: string, negated: boolean): string {
  if (isCut(value)) {
    const contains = `${writtenField(field)} contains ${JSON.stringify(value.slice(0, -1))}`
    return negated ? `not ${contains}` : contains
  }
  return writeChoice({ field, negated, values: [value] })
}

/**
 * The terms after a click on a value. Several values of a field are one clause; the value clicked again is taken out;
 * what is included is no longer excluded, and the other way round.
 */
export function toggle(terms: string[], field: string, value: string, negated: boolean): string[] {
  if (isCut(value)) return toggleText(terms, clause(field, value, negated))
  const kept = terms.flatMap((term) => {
    const found = choiceOf(term, field)
    return found === null || found.negated === negated ? [term] : without(found, value)
  })
  const at = kept.findIndex((term) => choiceOf(term, field)?.negated === negated)
  const before = choice(kept[at] ?? '')
  if (before === null) return [...kept, writeChoice({ field, negated, values: [value] })]
  const after = before.values.includes(value)
    ? without(before, value)
    : [writeChoice({ ...before, values: [...before.values, value] })]
  return kept.flatMap((term, index) => (index === at ? after : [term]))
}

function without(found: Choice, value: string): string[] {
  const values = found.values.filter((one) => one !== value)
  return values.length === 0 ? [] : [writeChoice({ ...found, values })]
}

/** The terms with one value of a field instead of all that were chosen or excluded. */
export function only(terms: string[], field: string, value: string): string[] {
  const wanted = clause(field, value, false)
  const isChoice = (term: string) => choiceOf(term, field) !== null || isClauseOfCut(term, field)
  const at = terms.findIndex(isChoice)
  const others = terms.filter((term) => !isChoice(term))
  return at < 0 ? [...terms, wanted] : [...others.slice(0, at), wanted, ...others.slice(at)]
}

/** Whether a clause was made by a press on a value that was cut. */
function isClauseOfCut(term: string, field: string): boolean {
  const all = tokens(term)
  const [name, contains, text] = isWord(all[0], 'not') ? all.slice(1) : all
  return name?.text === field && isWord(contains, 'contains') && (text?.text.length ?? 0) >= cutFrom - 1
}

/** The values of a field that the terms choose, and those that they exclude. */
export function namedValues(terms: string[], field: string): { chosen: string[]; excluded: string[] } {
  const of = (negated: boolean) =>
    terms.flatMap((term) => {
      const found = choiceOf(term, field)
      return found?.negated === negated ? found.values.filter((value) => value !== '') : []
    })
  return { chosen: unique(of(false)), excluded: unique(of(true)) }
}

/** A whole clause clicked: in when it was not there, out when it was. */
export function toggleText(terms: string[], text: string): string[] {
  return terms.includes(text) ? terms.filter((term) => term !== text) : [...terms, text]
}

/** Each clause once. */
export const unique = (terms: string[]) => [...new Set(terms)]

/** Clauses added, those that are there already left alone. */
export const added = (terms: string[], more: string[]) => unique([...terms, ...more])

/** The opposite clause. */
export function negate(term: string): string {
  const found = choice(term)
  if (found) return writeChoice({ ...found, negated: !found.negated })
  const all = tokens(term)
  const [first, second] = all
  if (first?.kind === 'word' && isMark(second, '~', '!~') && second && all.length === 3) {
    const turned = second.text === '~' ? '!~' : '~'
    return term.slice(0, second.from) + turned + term.slice(second.to)
  }
  if (isWord(first, 'not') && first && outside(all, 'and').length === 0 && outside(all, 'or').length === 0) {
    return unwrapped(term.slice(first.to).trim())
  }
  const simple = outside(all, 'and').length === 0 && outside(all, 'or').length === 0
  return simple ? `not ${term.trim()}` : `not (${term.trim()})`
}

/** Without parentheses around the whole. */
function unwrapped(term: string): string {
  const all = tokens(term)
  if (!isMark(all[0], '(')) return term
  let depth = 0
  const end = all.findIndex((token) => {
    if (isMark(token, '(')) depth++
    else if (isMark(token, ')')) depth--
    return depth === 0
  })
  return end === all.length - 1 ? term.slice(all[0]?.to ?? 0, all[end]?.from).trim() : term
}

export type Chosen = 'in' | 'out' | null

/** Those of the terms that may choose values of a field. */
export const about = (terms: string[], field: string) =>
  terms.filter((term) => (choice(term)?.field ?? field) === field)

/** Whether the terms include or exclude this very value. */
export function chosen(terms: string[], field: string, value: string): Chosen {
  for (const term of terms) {
    const found = choice(term)
    if (found?.field === field && found.values.includes(value)) return found.negated ? 'out' : 'in'
    if (isCut(value) && term === clause(field, value, false)) return 'in'
    if (isCut(value) && term === clause(field, value, true)) return 'out'
  }
  return null
}
