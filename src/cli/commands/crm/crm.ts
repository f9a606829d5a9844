import { Argument } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import {
  crmKeyName,
  crmOf,
  dropAccount,
  listAccounts,
  type StoredAccount,
  storeAccount,
} from '../../../crm/accounts.js'
import { type CrmKind, crmKinds } from '../../../crm/connector.js'
import { countRecords, pull } from '../../../crm/mirror.js'
import { crmNames } from '../../../runs/output/crm-names.js'
import { holdRun } from '../../../runs/records.js'
import { capHeap } from '../../batch/run.js'
import type { Context } from '../../context/context.js'
import { forgetKey, storeKey } from '../../context/credentials.js'
import { connectorFor, openCrm, openCrmRecords, openMirror, suppressionOf } from '../../context/crm.js'
import { interruptible } from '../../context/io.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { keyOptions, readKey } from '../../options/key.js'
import { isoTime, type OptionsOf, optionRows } from '../../options/values.js'
import { networks } from '../../options/webhooks.js'
import { printRecords } from '../../output/print.js'
import { startProgress } from '../../output/progress.js'
import { countOf, formatNumber } from '../../output/text.js'

const crmArgument = `the CRM: ${crmNames.join(', ')}`

export const crmCommand: CommandFactory = ({ command, group }) =>
  group('crm', 'Your CRM: connect it, and read what it has', [
    command('connect', 'Store the key of an account, after trying it; says which account it is of')
      .argument('<crm>', crmArgument)
      .withOptions(connectOptions)
      .printResult(connect),
    command('list', 'The accounts that are connected, and how many records were read').printResult(
      async (context) => {
        const { database } = await openCrmRecords(context)
        const rows = []
        for (const account of await listAccounts(database))
          rows.push({
            ...shownAccount(account),
            companies: await countRecords(database, account.crm, 'companies'),
            people: await countRecords(database, account.crm, 'people'),
            connected_at: isoTime(account.connectedAt),
          })
        return rows
      },
      {
        columns: ['crm', 'account', 'is', 'companies', 'people', 'connected_at'],
        empty: 'No CRM is connected.',
      },
    ),
    command('pull', 'Read companies and people: all of them at first, then what has changed')
      .argument('[crm]', 'the CRM (default: all that are connected)')
      .withOptions(optionRows({ all: ['', 'read all records once more'] }))
      .printResult(
        async (context, { args: [crm], options }) => {
          const { database } = await openCrmRecords(context)
          const names = crm === undefined ? (await listAccounts(database)).map((one) => one.crm) : [crm]
          if (names.length === 0) throw new Refusal('crm.not_connected', { crm: crmNames[0] })
          const rows = []
          for (const name of names) rows.push(...(await pullAccount(context, name, options.all === true)))
          return rows
        },
        { columns: ['crm', 'kind', 'read', 'gone', 'records'] },
      ),
    command('export', 'Write what was read as a table, with the id of each record in _crm_id')
      .argument('<crm>', crmArgument)
      .addArgument(new Argument('<kind>', 'companies or people').choices(crmKinds))
      .run(async (context, { args: [crm = '', kind] }) => {
        const list = await openMirror(context, crm, kind as CrmKind)
        const suppressor = await context.suppressor()
        await printRecords(context, async function* () {
          for await (const batch of list.rows()) {
            const suppressed = await suppressor?.areAbout(batch.map(({ fields }) => fields))
            for (const [at, { cell, hashed }] of batch.entries())
              if (!hashed && !suppressed?.[at])
                yield Object.fromEntries(list.columns.map((name) => [name, cell(name)]))
          }
        })
      }),
    command('disconnect', 'Forget the key of an account, and what was read of it')
      .argument('<crm>', crmArgument)
      .printResult(async (context, { args: [crm = ''] }) => {
        const { database } = await openCrmRecords(context)
        crmOf(crm)
        await dropAccount(database, crm)
        forgetKey(context, crmKeyName(crm))
        return { disconnected: crm }
      }),
  ])

const connectOptions = optionRows({
  ...keyOptions,
  baseUrl: ['<url>', 'another address of its API, such as that of a gateway'],
  allowTarget: [
    '<network>',
    'let that address be in this network, and begin with http://, such as 10.1.0.0/16 (repeatable)',
    networks,
  ],
  createKey: ['', 'add a unique property of ours, so that several records can be created at a time'],
})

type ConnectOptions = OptionsOf<typeof connectOptions>

async function connect(
  context: Context,
  { args: [crm = ''], options }: { readonly args: readonly string[]; readonly options: ConnectOptions },
) {
  const { url } = crmOf(crm)
  const { baseUrl = url, allowTarget = [], createKey = false } = options
  if (baseUrl === undefined) throw new Refusal('crm.no_base_url', { crm })
  if (!/^https?:\/\//i.test(baseUrl)) throw new Refusal('crm.base_url', { baseUrl })
  if (/^http:/i.test(baseUrl) && allowTarget.length === 0) throw new Refusal('crm.plain', { baseUrl })
  const key = await readKey(context, crm, options, new Refusal('crm.no_key', { crm }))
  const connector = await connectorFor(context, { crm, baseUrl, allow: allowTarget }, key)
  const { id, name, isLive, missing } = await connector.account()
  const keys: Partial<Record<CrmKind, string>> = {}
  if (createKey) for (const kind of crmKinds) keys[kind] = await connector.createKey(kind)
  const { database, now } = await openCrmRecords(context)
  const account: StoredAccount = {
    crm,
    account: id,
    name,
    isLive,
    baseUrl,
    allow: allowTarget,
    keys,
    connectedAt: now(),
  }
  await storeAccount(database, account)
  storeKey(context, crmKeyName(crm), key)
  if (missing.length > 0)
    context.notify(`The key lacks ${missing.join(', ')}: add what you need in the settings of the account.`)
  return { ...shownAccount(account), missing_scopes: missing }
}

const shownAccount = ({ crm, account, name, isLive }: StoredAccount) => ({
  crm,
  account,
  name,
  is: isLive ? 'LIVE' : 'SANDBOX',
})

const pullAccount = (context: Context, crm: string, all: boolean) =>
  interruptible(context.streams, async (signal) => {
    const { records, account, connector } = await openCrm(context, crm, signal)
    await holdRun(context, records.locks, lockOf(account), { of: 'lock', name: lockOf(account) })
    const progress = await startProgress(context, ({ rows }) => `${countOf(rows, 'record', 'records')} read`)
    context.onClose(capHeap(growingPercent))
    let before = 0
    let last = 0
    const onRecords = (read: number) => {
      if (read < last) before += last
      last = read
      progress.update({ rows: before + read })
    }
    const { database, now } = records
    const areSuppressed = await suppressionOf(context)
    const pulled = await pull(
      connector,
      { database, areSuppressed, now, onRecords, signal },
      all ? 'all' : 'changes',
    ).finally(() => progress.stop())
    for (const { kind, whole, read, gone, withheld } of pulled)
      context.notify(
        `${crm}: ${formatNumber(read)} ${kind} ${whole ? 'read' : 'have changed'}${gone > 0 ? `, ${formatNumber(gone)} are gone` : ''}${withheld > 0 ? `, of ${formatNumber(withheld)} who are suppressed only the id is kept` : ''}.`,
      )
    return pulled.map((one) => ({ crm, ...one }))
  })

/**
 * By how many percent the old generation of V8's heap grows: otherwise a file of 100,000 rows takes 60 MB more than one of
 * 10,000 with the answers of a CRM, and is no faster.
 */
export const growingPercent = 30

/** The lock of an account: one pull or push at a time. */
export const lockOf = ({ crm, account }: Pick<StoredAccount, 'crm' | 'account'>): string =>
  `${crm}-${account.replace(/[^\w.-]/g, '_')}`
