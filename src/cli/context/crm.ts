import { Refusal } from '../../api/calls/errors.js'
import { accountOf, crmKeyName, crmOf, type StoredAccount } from '../../crm/accounts.js'
import type { CrmConnector, CrmKind } from '../../crm/connector.js'
import type { MirrorPorts } from '../../crm/mirror.js'
import type { ListKind } from '../../lists/list-index.js'
import { openRuns, type RunRecords } from '../../runs/records.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Context } from './context.js'
import { storedKey } from './credentials.js'

/** Opens what is stored of CRMs: on this machine, or beside an engine on a server, which machines share. */
export const openCrmRecords = (context: Context): Promise<RunRecords> =>
  openRuns(context, isPostgres(context.home.engine) ? { database: context.home.engine } : {})

/** Returns what asks an account with a key. It is closed with the command. */
export async function connectorFor(
  context: Context,
  { crm, baseUrl, allow }: Pick<StoredAccount, 'crm' | 'baseUrl' | 'allow'>,
  key: string,
  signal?: AbortSignal,
): Promise<CrmConnector> {
  const { createCrmHttp } = await import('../../crm/http.js')
  const { clock, sleep, notify } = context
  const http = createCrmHttp({ crm, allow, clock, sleep, notify, signal })
  context.onClose(() => http.close())
  return crmOf(crm).create({ key, baseUrl: baseUrl.replace(/\/+$/, ''), http })
}

/** Returns what says which companies or people are not to be contacted. */
export async function suppressionOf(context: Context): Promise<MirrorPorts['areSuppressed']> {
  const suppressor = await context.suppressor()
  return async (records) => suppressor?.areAbout(records) ?? records.map(() => false)
}

export interface OpenedCrm {
  readonly records: RunRecords
  readonly account: StoredAccount
  readonly connector: CrmConnector
}

/** Opens the account of a CRM. Throws a Refusal where none is connected, or its key is not on this machine. */
export async function openCrm(context: Context, crm: string, signal?: AbortSignal): Promise<OpenedCrm> {
  const records = await openCrmRecords(context)
  const account = await accountOf(records.database, crm)
  const key = storedKey(context.home, crmKeyName(crm))
  if (key === undefined) throw new Refusal('crm.key_elsewhere', { crm })
  context.conceal(key)
  return { records, account, connector: await connectorFor(context, account, key, signal) }
}

/** Throws a Refusal where an account is missing, its key, or one of some properties. */
export async function requireCrm(
  context: Context,
  crm: string,
  kind: CrmKind,
  properties: readonly string[],
): Promise<void> {
  const { connector } = await openCrm(context, crm)
  const { requireProperties } = await import('../../crm/mapping.js')
  await requireProperties(connector, kind, properties)
}

/** Opens what was read of a CRM as a list; asks the CRM nothing. */
export async function openMirror(context: Context, crm: string, kind: ListKind) {
  const { mirrorList } = await import('../../crm/mirror.js')
  const { database } = await openCrmRecords(context)
  const account = await accountOf(database, crm)
  return mirrorList(database, await connectorFor(context, account, ''), kind)
}

/** Returns what yields the people of a mirror who have opted out, with each of their addresses. */
export async function openOptedOut(context: Context, crm: string) {
  const { mirrored, mirrorList } = await import('../../crm/mirror.js')
  const { database } = await openCrmRecords(context)
  const connector = await connectorFor(context, await accountOf(database, crm), '')
  // It refuses where nothing was read yet.
  await mirrorList(database, connector, 'people')
  return async function* () {
    for await (const portion of mirrored(database, crm, 'people'))
      yield portion.flatMap(({ values }) =>
        connector.isOptedOut(values) ? connector.identities('people', values) : [],
      )
  }
}
