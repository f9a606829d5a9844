import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import type { Clock } from '../../../../src/api/ports/ports.js'
import { createDoctor, type Doctor } from '../../../../src/cli/commands/doctor/context.js'
import { checks, type Finding, runChecks } from '../../../../src/cli/commands/doctor/doctor.js'
import type { GlobalOptions } from '../../../../src/cli/context/context.js'
import { createContext } from '../../../../src/cli/target/create.js'
import { type Admin, createAdmin } from '../../../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../../../src/engine/tables/schema.js'
import type { Driver } from '../../../../src/storage/driver/connection.js'
import { type Machine, machine, streamsOf } from '../../../support/command.js'
import { randomIds } from '../../../support/engine.js'

/** How the doctor looks, and what no test can bring about. */
export interface Given {
  readonly env?: Readonly<Record<string, string>>
  readonly options?: GlobalOptions
  readonly clock?: Clock
  readonly thorough?: boolean
  readonly fileSystemType?: Doctor['fileSystemType']
}

/** A machine whose home can be damaged and examined by single checks. */
export interface Place extends Machine {
  path(name: string): string
  /** Returns the findings of a check. */
  look(name: string, given?: Given): Promise<readonly Finding[]>
  /** Returns the findings as lines of status, text and hint. */
  lines(name: string, given?: Given): Promise<readonly string[]>
  /** Expects one finding, whose line has a text or matches a pattern. */
  says(what: string | RegExp, name: string, given?: Given): Promise<void>
  /** Changes the engine's state. */
  engine<T>(work: (admin: Admin, store: Driver) => Promise<T>): Promise<T>
  /** Runs statements on a database without the checks of the program. */
  sql(file: string, statements: string): void
}

/** Creates a place with an empty home. */
export function place(): Place {
  const here = machine()
  const look: Place['look'] = async (name, given = {}) => {
    const streams = streamsOf({ env: { PROSPECT_HOME: here.home, ...given.env } })
    const context = createContext(streams, given.clock ? { clock: given.clock } : {})
    const doctor = createDoctor(context, given.thorough === true)
    try {
      const { fileSystemType = doctor.fileSystemType } = given
      const asked = { ...doctor, fileSystemType }
      return (await runChecks(named(name), context.withGlobals(given.options ?? {}), asked)).checks
    } finally {
      await context.close()
    }
  }
  const lines: Place['lines'] = async (name, given) =>
    (await look(name, given)).map(({ status, text, hint }) => [status, text, hint ?? ''].join(' | '))
  return {
    ...here,
    path: (name) => join(here.home, name),
    look,
    lines,
    says: async (what, name, given) =>
      expect(await lines(name, given)).toEqual([
        typeof what === 'string' ? expect.stringContaining(what) : expect.stringMatching(what),
      ]),
    engine: async (work) => {
      const store = await openEngineDatabase(join(here.home, 'engine.db'))
      try {
        return await work(createAdmin({ store, clock: { now: Date.now }, ids: randomIds }), store)
      } finally {
        await store.close()
      }
    },
    sql: (file, statements) => {
      const database = new Database(join(here.home, file))
      database.exec(statements)
      database.close()
    },
  }
}

function named(name: string) {
  const found = checks.filter((check) => check.name === name)
  if (found.length !== 1) throw new Error(`no check ${name}`)
  return found
}
