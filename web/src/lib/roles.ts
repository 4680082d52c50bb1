/**
 * What a column of a table is for: guessed by its name, its kind and its values, and changed by the reader. Only a
 * role drives special treatment (order, colours), never a name.
 */

import type { TableColumn } from './fields'

export const roles = [
  'none',
  'time',
  'severity',
  'status',
  'duration',
  'size',
  'client',
  'path',
  'agent',
  'message',
  'pattern',
  'id',
] as const
export type Role = (typeof roles)[number]

/** What a column is called, its last part without case, `_` and `-`; in the order of `roles`. */
const names: Record<Exclude<Role, 'none' | 'pattern'>, RegExp> = {
  time: /^(@?timestamp|ts|(date|event|start|end|created|updated)?time|date|createdat|updatedat|started)$/,
  severity: /^(level|severity|loglevel|lvl|levelname|severitytext|priority)$/,
  status: /^(status|statuscode|code|httpstatus|response(code|status))$/,
  duration:
    /^((duration|took|elapsed|latency|(response|request|processing|upstream)time|timetaken)(ms|us|ns|s|sec|seconds|millis)?|time(ms|us)|ms|millis|seconds)$/,
  size: /^((response|request|body)?(bytes|size|length)|bytes(sent|received|in|out))$/,
  client: /^(ip|client(ip|addr(ess)?)?|remote(ip|addr(ess)?|host)?|src(ip)?|sourceip|host)$/,
  path: /^(path|url|uri|requesturi|requestpath|endpoint|route)$/,
  agent: /^(agent|useragent|ua)$/,
  message: /^(msg|message|text|error|err|event|body|log|exception|reason)$/,
  id: /^(id|uuid|guid|.*uuid)$/,
}

const severities =
  /^(trace|debug|verbose|info|information|notice|warn|warning|error|err|crit|critical|alert|emerg|emergency|fatal|panic)$/i
const address = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7})$/i

/** The kinds that a role has. */
function fits(role: Role, { kind, unit }: TableColumn, values: string[]): boolean {
  const all = (pattern: RegExp) => values.length > 0 && values.every((value) => pattern.test(value))
  switch (role) {
    case 'time':
      return unit === 'time'
    case 'severity':
      return kind === 'text' && (values.length === 0 || all(severities))
    case 'status':
      return kind === 'text' || unit === 'integer'
    case 'duration':
    case 'size':
      return kind === 'number' && unit !== 'time'
    case 'client':
      return kind === 'text' && (values.length === 0 || all(address))
    case 'path':
    case 'agent':
    case 'message':
      return kind === 'text'
    case 'id':
      return unit !== 'time'
    default:
      return true
  }
}

const last = (name: string) => name.split('.').at(-1) ?? name
const plain = (name: string) =>
  last(name)
    .toLowerCase()
    .replace(/[_\- ]/g, '')
/** A word that ends so by itself is none: `paid`, `grid`. */
const isId = (name: string) => /([_\- ](id|guid)|[a-z](Id|ID|Guid))$/.test(last(name))

/** The role that a column seems to have; `values` are its most frequent texts, as far as they are known. */
export function guess(column: TableColumn, values: string[]): Role {
  if (column.content === 'pattern') return 'pattern'
  const name = plain(column.name)
  const known = values.filter((value) => value !== '')
  const isNamed = (role: Role) => role !== 'none' && role !== 'pattern' && names[role].test(name)
  const byName = roles.find((role) => name !== '' && isNamed(role) && fits(role, column, known))
  if (byName) return byName
  if (isId(column.name) && fits('id', column, known)) return 'id'
  // By its values alone: a word for a severity is hardly anything else.
  if (column.kind === 'text' && known.length > 1 && known.every((value) => severities.test(value)))
    return 'severity'
  return 'none'
}

/** Where panels of a role stand: what says how bad it is first, what tells rows apart last. */
const ranks: Partial<Record<Role, number>> = { severity: -3, status: -2, pattern: -1, message: 1, id: 2 }
export const rankOf = (role: Role) => ranks[role] ?? 0

const grades: [RegExp, string][] = [
  [/^(emerg|emergency|alert|crit|critical|fatal|panic|err|error)$/i, '5xx'],
  [/^(warn|warning)$/i, '4xx'],
  [/^(notice|info|information)$/i, '2xx'],
  [/^(debug|trace|verbose)$/i, '3xx'],
]

/** The class of an access log that a severity is as bad as: it has its colour. */
export const gradeOf = (severity: string) =>
  grades.find(([pattern]) => pattern.test(severity))?.[1] ?? 'other'
