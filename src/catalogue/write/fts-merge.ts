import type { Driver } from '../../storage/driver/connection.js'
import { atOnce, type Statements } from './sync-steps.js'

// Each commit leaves its words in a segment of their own. SQLite merges a few of them again and again as it writes;
// when much is written, merging them once at the end costs less.

/** As SQLite sets them. */
const usual = { automerge: 4, crisismerge: 16, deletemerge: 10 }
// It cannot have more than 2,000 segments.
const late = { automerge: 0, crisismerge: 64, deletemerge: 0 }

const isText = `sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'`

/** The texts of a catalogue that can be searched by words. */
const textsIn = (statements: Statements): string[] =>
  statements.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE ${isText}`).map(({ name }) => name)

/** Leaves the segments of texts as they are written, until `mergeTexts`. */
export const mergeLater = (statements: Statements): void => set(statements, late)

/** Merges the segments of texts as they are written again. */
export const mergeAsUsual = (statements: Statements): void => set(statements, usual)

function set(statements: Statements, settings: Readonly<Record<string, number>>): void {
  for (const text of textsIn(statements))
    for (const [name, value] of Object.entries(settings))
      statements.run(`INSERT INTO ${text} (${text}, rank) VALUES ('${name}', ${value})`)
}

/** Pages written by one step of merging: a small part of a second. */
const pages = 2_000

/**
 * Merges the segments that were written, in transactions that are short; with `whole`, all segments of each text into
 * one, without the words that records no longer have.
 */
export async function mergeTexts(driver: Driver, whole: boolean): Promise<void> {
  const texts = await driver.read((connection) => textsIn(atOnce(connection)))
  for (const text of texts) {
    const merge = (amount: number) =>
      driver.transaction((connection) => {
        const statements = atOnce(connection)
        const before = changesOf(statements)
        statements.run(`INSERT INTO ${text} (${text}, rank) VALUES ('merge', ${amount})`)
        // Less than two changes mean that nothing is left to merge.
        return changesOf(statements) - before > 1
      })
    if (await merge(whole ? -pages : pages)) while (await merge(pages));
  }
}

const changesOf = (statements: Statements): number =>
  statements.get<{ changes: number }>('SELECT total_changes() AS changes')?.changes ?? 0
