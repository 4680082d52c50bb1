/** Several files that are sent as one log: which, in which order, and under which name. */

/** A file as the server is told of it. */
export interface Part {
  name: string
  size: number
}

/** A file that was picked, under the path that tells it from others. */
export interface Named {
  file: File
  name: string
}

/** Of a log that was made here of several files, these. */
const made = new WeakMap<object, Part[]>()

/** The files that a log was made of; null where it is one. */
export const partsOf = (file: object): Part[] | null => made.get(file) ?? null

/** Names by which no two files are called the same. */
export function uniquelyNamed(files: Named[]): Named[] {
  const taken = new Set<string>()
  return files.map(({ file, name }) => {
    let unique = name
    for (let number = 2; taken.has(unique); number++) unique = `${name} (${number})`
    taken.add(unique)
    return { file, name: unique }
  })
}

/** The oldest first, by when they were written last; of the same moment by name, `.10` before `.9` as logs are rotated. */
export const oldestFirst = (files: Named[]): Named[] =>
  files.toSorted(
    (a, b) =>
      a.file.lastModified - b.file.lastModified || byRotation(b.name, a.name) || order(a.name, b.name),
  )

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The number of a rotated log: none is the newest. */
const rotation = (name: string) => Number(/\.(\d{1,6})(\.[a-z0-9]+)?$/i.exec(name)?.[1] ?? 0)
const byRotation = (a: string, b: string) => rotation(a) - rotation(b)

/** What a log of these files is called: the newest, and how many others. */
export const nameOf = (parts: Part[]): string =>
  parts.length < 2 ? (parts[0]?.name ?? '') : `${parts.at(-1)?.name} and ${parts.length - 1} more`

/** One file whose bytes are those of all, one after another. Nothing is read: a browser only notes where they are. */
export function together(files: Named[]): File {
  const named = uniquelyNamed(oldestFirst(files))
  const parts = named.map(({ file, name }) => ({ name, size: file.size }))
  const lastModified = Math.max(...named.map(({ file }) => file.lastModified))
  const log = new File(
    named.map(({ file }) => file),
    nameOf(parts),
    { lastModified },
  )
  made.set(log, parts)
  return log
}

/** Files of rows in columns are no log together. */
export const areTables = (files: Named[]): boolean =>
  files.some(({ name }) => /\.(csv|tsv|parquet|arrow|feather)(\.(gz|zst|bz2|xz|lz4))?$/i.test(name))
