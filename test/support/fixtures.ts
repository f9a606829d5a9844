import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The rows of a fixture with tabs between its cells, without its header. Cells are as they are, with their spaces. */
export const rowsOf = (name: string): string[][] =>
  readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8')
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split('\t'))

/** The cases of a table of tests: one JSON value in each line of a fixture. */
export const casesOf = <Case>(name: string): Case[] =>
  readFileSync(join(import.meta.dirname, '../fixtures', `${name}.ndjson`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
