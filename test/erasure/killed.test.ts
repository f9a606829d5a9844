import { describe, expect, it } from 'vitest'
import { openCatalogue } from '../../src/catalogue/catalogue.js'
import { findSubject } from '../../src/catalogue/erasure/subject.js'
import { erasePerson } from '../../src/erasure/person.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { openState } from '../../src/storage/state/open.js'
import { eventsOver } from '../../src/storage/state/webhook-inbox.js'
import { countedIds, stillClock } from '../catalogue/open.js'
import { openBench } from '../support/engine.js'

const email = 'jane@acme.example'
const jane = {
  full_name: 'Jane Roe',
  email,
  personal_email: 'jr@mail.example',
  network_profile_url: 'https://www.network.example/in/jane-roe',
  phones: ['+33639980077'],
  company_domain: 'acme.example',
}
const traces = /jane|jr@mail|639980077/i

async function opened() {
  const catalogue = openSqlite(':memory:')
  const source = await openCatalogue(catalogue, { clock: stillClock, ids: countedIds() })
  await source.importRecords('people', [jane])
  await source.importRecords('jobs', [
    { job_title: 'Clerk', company_domain: 'acme.example', description: 'Call +33 6 39 98 00 77.' },
  ])
  const { database: engine, workspaceId } = await openBench()
  const state = await openState(':memory:')
  return { catalogue, engine, state, workspaceId }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** Stores what was found before of the person: it has none of what the command is given. */
async function found({ engine, state, workspaceId }: Opened, at: number): Promise<void> {
  const sql = `INSERT INTO replies (workspace_id, key, fingerprint, status, body, token, lease_until, created_at)
    VALUES (?, ?, 'f', 200, '{"phone":["+33639980077"]}', 't', 0, 0)`
  await engine.transaction(async (connection) => connection.run(sql, workspaceId, `key ${at}`))
  const event = { path: 'p', receivedAt: 0, event: 'x', search: null, verified: true, headers: {} }
  const body = '{"lead":{"personal_email":"jr@mail.example"}}'
  await eventsOver(state).keep({ ...event, id: `event ${at}`, body })
}

class Killed extends Error {}

/** Databases that end with the transaction before the given one. */
function killedAfter(databases: Opened, transactions: number): Opened {
  let left = transactions
  const ending = (driver: Driver): Driver => ({
    ...driver,
    read: (work) => driver.read(work),
    transaction: (work, scope) => {
      left -= 1
      if (left < 0) throw new Killed()
      return driver.transaction(work, scope)
    },
  })
  return {
    ...databases,
    catalogue: ending(databases.catalogue),
    engine: ending(databases.engine),
    state: ending(databases.state),
  }
}

async function erase({ catalogue, engine, state }: Opened) {
  return erasePerson({ engine, runs: [state], ...(await findSubject(catalogue, { email })) }, 0)
}

async function textOf({ catalogue, engine, state }: Opened): Promise<string> {
  const rows: unknown[] = []
  for (const driver of [catalogue, engine, state]) {
    const names = await driver.read(async (reads) =>
      reads.all<{ name: string }>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%fts5%'`,
      ),
    )
    for (const { name } of names)
      if (!/_text_/.test(name))
        rows.push(await driver.read(async (reads) => reads.all(`SELECT * FROM ${name}`)))
  }
  return JSON.stringify(rows)
}

describe('an erasure that is killed', () => {
  it('is completed by the next one, wherever it was and whatever was stored meanwhile', async () => {
    let [kills, isWhole] = [0, false]
    for (; !isWhole; kills++) {
      const databases = await opened()
      await found(databases, 0)
      isWhole = await erase(killedAfter(databases, kills)).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Killed) return false
          throw error
        },
      )
      // By a process that had read the catalogue before.
      if (!isWhole) await found(databases, 1)
      await erase(databases)
      expect({ kills, text: (await textOf(databases)).match(traces)?.[0] }).toEqual({ kills })
      for (const driver of [databases.catalogue, databases.engine, databases.state]) await driver.close()
    }
    expect(kills).toBeGreaterThan(20)
  })
})
