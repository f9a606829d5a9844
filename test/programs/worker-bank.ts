import { ApiError } from '../../src/api/calls/errors.js'
import { addMovement, lockPosition, readBalances } from '../../src/engine/credits/ledger.js'
import { listWorkspaces } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Connection } from '../../src/storage/driver/connection.js'

/**
 * Moves credits between the workspaces of a bank, or looks at what all of them have, until it is ended or killed. A line
 * says what came of each: `ok`, `away` where the database was, or what was wrong. Arguments: store, write or read, what all of them have together.
 */
const [location = '', role = '', total = '0'] = process.argv.slice(2)
const store = await openEngineDatabase(location)
const ids = await store.read(async (tx) =>
  (await listWorkspaces(tx)).filter(({ name }) => name.startsWith('bank')).map(({ id }) => id),
)
const any = () => ids[Math.floor(Math.random() * ids.length)] ?? ''

async function transfer(tx: Connection, from: string, to: string, wanted: number): Promise<void> {
  const position = await lockPosition(tx, from)
  const amount = Math.min(wanted, position.credits)
  if (amount === 0 || from === to) return
  const step = { kind: 'adjustment', amount, at: Date.now() } as const
  await addMovement(tx, { ...step, workspace_id: from, debit: 'credits', credit: 'issued' }, position)
  await addMovement(tx, { ...step, workspace_id: to, debit: 'issued', credit: 'credits' })
}

/** What is wrong with what is seen at one moment. */
async function look(): Promise<string> {
  const positions = await store.read(async (tx) => {
    const seen = []
    for (const id of ids) seen.push(await readBalances(tx, id))
    return seen
  })
  const credits = positions.map((position) => position?.credits)
  if (credits.some((one) => typeof one !== 'number' || one < 0)) return `balances are ${credits}`
  const sum = credits.reduce((all, one) => all + one, 0)
  return sum === Number(total) ? 'ok' : `the total is ${sum}`
}

let ended = false
process.once('SIGTERM', () => {
  ended = true
})
while (!ended) {
  const doing =
    role === 'read'
      ? look()
      : store.transaction((tx) => transfer(tx, any(), any(), 1 + Math.floor(Math.random() * 50)))
  const said = await doing.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 503) return 'away'
    throw error
  })
  process.stdout.write(`${said ?? 'ok'}\n`)
}
await store.close()
