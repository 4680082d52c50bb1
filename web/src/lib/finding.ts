/** What Explain says of its findings: the first one as a sentence, ratios in words, and the values that go with one. */

import { titleOf } from './fields'
import { choice, tokens } from './filter'
import { count, share } from './format'
import { comparedTitle } from './paired'
import type { Explanation, Finding } from './viewapi'

/** A piece of a sentence; `isValue` where it is text of the log. */
export interface Said {
  text: string
  isValue: boolean
}

const word = (text: string): Said => ({ text, isValue: false })
const value = (text: string): Said => ({ text, isValue: true })

/** The words that a sentence is about. */
export interface Scene {
  /** The place, as a sentence begins: `Between 14:10 and 14:25`. */
  where: string
  /** `requests` or `rows`. */
  records: string
}

const least = /^>= (.+)$/

/** A value as people read it, without zeros that say nothing: `≥ 2 s`. */
export const valueTitle = (field: string, value: string) =>
  comparedTitle(field, value).replace(/\.0+ (?=[^ ]+$)/, ' ')

/** `path /checkout`, `no referrer`, `a request time of at least 2 s`. */
function having({ field, value: of }: Finding['terms'][number]): Said[] {
  const title = titleOf(field).toLowerCase()
  if (of === '') return [word(`no ${title}`)]
  if (!least.test(of)) return [word(`${title} `), value(valueTitle(field, of))]
  const article = /^[aeio]/.test(title) ? 'an' : 'a'
  // A number and its unit stay on one line.
  const bound = valueTitle(field, of)
    .replace(/^(≥|>=) /, '')
    .replace(' ', '\u00a0')
  return [word(`${article} ${title} of at least `), value(bound)]
}

/** `3.4 times`, `31 times`: how many times as frequent, to two figures below ten. */
const times = (ratio: number) => `${ratio < 10 ? ratio.toPrecision(2) : count(ratio)} times`

/** The finding in words that a person would say. */
export function sentence(finding: Finding, answer: Explanation, { where, records }: Scene): Said[] {
  const terms = finding.terms.flatMap((term, index) => [word(index === 0 ? '' : ' and '), ...having(term)])
  const inside = `${count(finding.inside)} of ${count(answer.inside)} (${share(finding.inside, answer.inside)})`
  const outside = `${count(finding.outside)} of ${count(answer.outside)}`
  const isOnlyHere = finding.outside === 0 || finding.ratio === null
  const rest = isOnlyHere
    ? word(` came only here: ${inside}, and none of the ${count(answer.outside)} outside.`)
    : word(
        ` were ${times(finding.ratio ?? 1)} as frequent as outside: ${inside}, outside ${outside} (${share(finding.outside, answer.outside)}).`,
      )
  return [word(`${where}, ${records} with `), ...terms, rest].filter(({ text }) => text !== '')
}

/** How many times as frequent, for a column of a table. */
export function ratioTitle({ ratio, outside }: Finding): string {
  if (ratio === null || outside === 0) return 'only here'
  return ratio >= 100 ? `${count(ratio)} ×` : `${ratio.toPrecision(3)} ×`
}

/** The share of false finds; tiny ones say no more by their digits. */
export const falseShare = (q: number) => (q < 0.001 ? '< 0.001' : q.toPrecision(2))

/** A value that most lines of a finding have too. */
export interface Companion {
  clause: string
  /** The value of the field; null where the clause is no choice of one value. */
  value: string | null
  title: string
}

/** Those of one field. */
export interface Companions {
  field: string
  title: string
  values: Companion[]
}

/** The clauses by field, in the order of the first of each. */
export function companionsOf(clauses: string[]): Companions[] {
  const groups = new Map<string, Companions>()
  for (const clause of clauses) {
    const { field, ...companion } = companionOf(clause)
    const group = groups.get(field) ?? { field, title: titleOf(field).toLowerCase(), values: [] }
    group.values.push(companion)
    groups.set(field, group)
  }
  return [...groups.values()]
}

function companionOf(clause: string): Companion & { field: string } {
  const found = choice(clause)
  const single = found?.values.length === 1 && !found.negated ? (found.values[0] ?? null) : null
  if (found && single !== null)
    return { field: found.field, clause, value: single, title: valueTitle(found.field, single) }
  const [name, mark] = tokens(clause)
  if (name === undefined || mark?.kind !== 'mark') return { field: clause, clause, value: null, title: '' }
  return { field: name.text, clause, value: null, title: valueTitle(name.text, clause.slice(mark.from)) }
}
