import { Refusal } from '../api/calls/errors.js'
import { nearest } from '../api/values/nearest.js'
import { type CrmName, crmNames, isCrmName } from '../runs/output/crm-names.js'
import type { Driver } from '../storage/driver/connection.js'
import type { CreateConnector, CrmKind } from './connector.js'
import { createHubspot, hubspotUrl } from './hubspot.js'
import { createPipedrive, pipedriveUrl } from './pipedrive.js'
import { createSalesforce } from './salesforce.js'

interface Crm {
  /** Undefined where each account has an address of its own. */
  readonly url: string | undefined
  readonly create: CreateConnector
}

const crms: Readonly<Record<CrmName, Crm>> = {
  hubspot: { url: hubspotUrl, create: createHubspot },
  pipedrive: { url: pipedriveUrl, create: createPipedrive },
  salesforce: { url: undefined, create: createSalesforce },
}

/** Returns how a CRM is connected. Throws a Refusal where there is none of that name. */
export function crmOf(name: string) {
  if (isCrmName(name)) return crms[name]
  throw new Refusal('crm.unknown', { name, meant: nearest(name, crmNames), known: crmNames })
}

/** Name under which the key of a CRM is stored. */
export const crmKeyName = (crm: string): string => `crm:${crm}`

/** An account that commands read and write. */
export interface StoredAccount {
  readonly crm: string
  readonly account: string
  readonly name: string
  readonly isLive: boolean
  readonly baseUrl: string
  readonly allow: readonly string[]
  /** Our own unique properties. */
  readonly keys: Readonly<Partial<Record<CrmKind, string>>>
  readonly connectedAt: number
}

interface AccountRow {
  readonly crm: string
  readonly account: string
  readonly name: string
  readonly live: number
  readonly base_url: string
  readonly allow: string
  readonly keys: string
  readonly connected_at: number
}

export async function listAccounts(database: Driver): Promise<readonly StoredAccount[]> {
  const rows = await database.read((reads) =>
    reads.all<AccountRow>('SELECT * FROM crm_accounts ORDER BY crm'),
  )
  return rows.map(({ live, base_url, allow, keys, connected_at, ...rest }) => ({
    ...rest,
    isLive: live === 1,
    baseUrl: base_url,
    allow: JSON.parse(allow) as string[],
    keys: JSON.parse(keys) as StoredAccount['keys'],
    connectedAt: Number(connected_at),
  }))
}

/** Returns the account of a CRM. Throws a Refusal where none is connected. */
export async function accountOf(database: Driver, crm: string): Promise<StoredAccount> {
  crmOf(crm)
  const found = (await listAccounts(database)).find((one) => one.crm === crm)
  if (!found) throw new Refusal('crm.not_connected', { crm })
  return found
}

const tablesOfMirror = ['crm_records', 'crm_pulls']

/** Stores an account in place of the one before; of another account nothing that was read is left. */
export const storeAccount = (database: Driver, account: StoredAccount): Promise<void> =>
  database.transaction(async (connection) => {
    const { crm, account: id, name, isLive, baseUrl, allow, keys, connectedAt } = account
    const before = await connection.get<AccountRow>('SELECT * FROM crm_accounts WHERE crm = ?', crm)
    if (before?.account !== id)
      for (const table of tablesOfMirror) await connection.run(`DELETE FROM ${table} WHERE crm = ?`, crm)
    await connection.run('DELETE FROM crm_accounts WHERE crm = ?', crm)
    await connection.run(
      `INSERT INTO crm_accounts (crm, account, name, live, base_url, allow, keys, connected_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      crm,
      id,
      name,
      isLive ? 1 : 0,
      baseUrl,
      JSON.stringify(allow),
      JSON.stringify(before?.account === id ? { ...JSON.parse(before.keys), ...keys } : keys),
      connectedAt,
    )
  })

/** Forgets an account with its mirror. What pushes wrote stays, so that it is known what came from here. */
export const dropAccount = (database: Driver, crm: string): Promise<void> =>
  database.transaction(async (connection) => {
    for (const table of [...tablesOfMirror, 'crm_accounts'])
      await connection.run(`DELETE FROM ${table} WHERE crm = ?`, crm)
  })
