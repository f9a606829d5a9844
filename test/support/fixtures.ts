import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The rows of a fixture with tabs between its cells, without its header. Cells are as they are, with their spaces. */
export const rowsOf = (name: string): string[][] =>
  readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8')
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split('\t'))
