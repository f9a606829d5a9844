import { createHmac, randomBytes } from 'node:crypto'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { PersonalTable } from '../../storage/erasure/traversal.js'
import type { Suppressible, SuppressionKind } from './identifiers.js'

/** An entry. Of one that was forgotten, value and reason are null. */
export interface Suppression {
  readonly kind: SuppressionKind
  readonly value: string | null
  readonly reason: string | null
  /** Real time. */
  readonly added_at: number
}

/** Returns the key of the hashes of an owner; `undefined` where nobody is suppressed. */
async function readSecret(connection: Connection, owner: string): Promise<string | undefined> {
  const sql = 'SELECT secret FROM suppression_keys WHERE owner = ?'
  return (await connection.get<{ secret: string }>(sql, owner))?.secret
}

export type FindSuppressed = ReturnType<typeof suppressionsOf>['find']

/** Whom an owner suppresses, in the database of a workspace or in the state of this machine. */
export const suppressionsOf = (driver: Driver, owner: string) => ({
  find: (keys: Iterable<string>): Promise<ReadonlySet<string>> =>
    driver.read(async (connection) => {
      const secret = await readSecret(connection, owner)
      if (secret === undefined) return none
      const hashes = new Map(Array.from(keys, (key) => [hashOf(secret, key), key]))
      if (hashes.size === 0) return none
      const rows = await connection.all<{ hash: string }>(
        'SELECT hash FROM suppressions WHERE owner = ? AND hash IN (SELECT value FROM json_each(?))',
        owner,
        JSON.stringify([...hashes.keys()]),
      )
      return new Set(rows.flatMap(({ hash }) => hashes.get(hash) ?? []))
    }),
  isEmpty: (): Promise<boolean> =>
    driver.read(async (connection) => (await readSecret(connection, owner)) === undefined),
  /** Adds entries. Returns how many are new. */
  add: (values: readonly Suppressible[], reason: string | null, now: number): Promise<number> =>
    driver.transaction((connection) => insert(connection, owner, values, reason, now)),
  /** Returns whether there was such an entry. */
  remove: ({ key }: Suppressible): Promise<boolean> =>
    driver.transaction(async (connection) => {
      const secret = await readSecret(connection, owner)
      if (secret === undefined) return false
      const where = 'DELETE FROM suppressions WHERE owner = ?'
      const removed = await connection.run(`${where} AND hash = ?`, owner, hashOf(secret, key))
      const left = await connection.get('SELECT 1 FROM suppressions WHERE owner = ? LIMIT 1', owner)
      if (!left) await connection.run('DELETE FROM suppression_keys WHERE owner = ?', owner)
      return removed > 0
    }),
  list: (): Promise<readonly Suppression[]> =>
    driver.read(async (connection) =>
      connection.all<Suppression>(
        'SELECT kind, value, reason, added_at FROM suppressions WHERE owner = ? ORDER BY added_at, kind, value, hash',
        owner,
      ),
    ),
  /** Keeps only hashes of the entries of a person; with `adds` those of all keys, so that the person is suppressed. */
  forget: (keys: readonly string[], adds: boolean, now: number): Promise<number> =>
    driver.transaction(async (connection) => {
      const entries = keys.map((key) => ({ kind: kindOfKey(key), value: null, key }))
      const added = adds ? await insert(connection, owner, entries, null, now) : 0
      const secret = (await readSecret(connection, owner)) ?? ''
      const sql = 'UPDATE suppressions SET value = NULL, reason = NULL WHERE owner = ? AND hash = ?'
      for (const key of keys) await connection.run(sql, owner, hashOf(secret, key))
      return added
    }),
})

/** The entries, for an erasure: what is written in one about somebody else. Those about the person are hashes already. */
export const suppressionTable: PersonalTable = {
  table: 'suppressions',
  key: ['owner', 'hash'],
  columns: ['value', 'reason'],
  erase({ value, reason }: Readonly<Record<'value' | 'reason', string | null>>, subject) {
    if (subject.mentions(value)) return { change: { value: null, reason: null } }
    return subject.mentions(reason) ? { change: { reason: null } } : undefined
  },
}

const none: ReadonlySet<string> = new Set()

const kindOfKey = (key: string): SuppressionKind => {
  const [, sort] = key.split(':', 2)
  if (sort === 'email' || sort === 'phone' || sort === 'domain') return sort
  return sort === 'name' ? 'person' : 'profile'
}

const hashOf = (secret: string, key: string): string => createHmac('sha256', secret).update(key).digest('hex')

async function insert(
  connection: Connection,
  owner: string,
  values: readonly (Pick<Suppression, 'kind' | 'value'> & { readonly key: string })[],
  reason: string | null,
  now: number,
): Promise<number> {
  await connection.run(
    'INSERT INTO suppression_keys (owner, secret) VALUES (?, ?) ON CONFLICT DO NOTHING',
    owner,
    randomBytes(32).toString('base64url'),
  )
  const secret = (await readSecret(connection, owner)) ?? ''
  let added = 0
  for (const { kind, value, key } of values)
    added += await connection.run(
      `INSERT INTO suppressions (owner, hash, kind, value, reason, added_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      owner,
      hashOf(secret, key),
      kind,
      value,
      reason,
      now,
    )
  return added
}
