/** The files in folders that were dropped. */

import type { Named } from './together'

/** Files of dropped entries with the paths to them, in the order of these; hidden files are no logs. */
export async function filesIn(entries: FileSystemEntry[]): Promise<Named[]> {
  const found: Named[] = []
  for (const entry of entries) await add(entry, found)
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

async function add(entry: FileSystemEntry, found: Named[]): Promise<void> {
  if (entry.name.startsWith('.')) return
  if (isFolder(entry)) {
    for (const inner of await content(entry)) await add(inner, found)
  } else {
    const file = await new Promise<File>((take, fail) => (entry as FileSystemFileEntry).file(take, fail))
    found.push({ file, name: entry.fullPath.replace(/^\//, '') })
  }
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

/** Everything in a folder, of which a browser gives some at a time. */
async function content(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((take, fail) => reader.readEntries(take, fail))
    if (some.length === 0) return all
    all.push(...some)
  }
}
