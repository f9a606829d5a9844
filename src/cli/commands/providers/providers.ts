import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { providerKeyName, webhookSecretName } from '../../../api/values/key-names.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { StoredProvider } from '../../../engine/tables/providers.js'
import { micros, type VendorAnswer, type VendorRequest } from '../../../providers/compile.js'
import {
  type ProviderFile,
  type Subject,
  subjectFields,
  writeDefinition,
} from '../../../providers/definition.js'
import type { Registry } from '../../../providers/registry.js'
import templates from '../../../providers/templates.json' with { type: 'json' }
import { writeTo } from '../../../runs/output/writer.js'
import type { Context } from '../../context/context.js'
import { forgetKey, keyIn, storedKey, storeKey } from '../../context/credentials.js'
import { checkSecret } from '../../context/home.js'
import { readText } from '../../context/io.js'
import { openAdmin, openRegistry, openWorkspaceOwner, requireEngine } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { keyOptions, readKey } from '../../options/key.js'
import { attribute } from '../../options/schema-options.js'
import { optionRows, repeated } from '../../options/values.js'
import { networks } from '../../options/webhooks.js'
import { fileOf, openFile } from '../../output/output.js'
import { redactBody } from '../../output/print.js'
import { bars } from '../../output/records.js'
import { countOf, formatNumber, type Look } from '../../output/text.js'

export const providersCommand: CommandFactory = ({ command, group }) =>
  group('providers', 'Data vendors of your own, which a waterfall asks in turn', [
    command('list', 'List what a waterfall asks, in its order')
      .reads('engine')
      .printResult(
        async (context) => {
          const registry = await openLocalRegistry(context)
          const [providers, orders] = [await registry.list(), await registry.orders()]
          const workspaceId = await registry.workspaceId()
          const { abilitiesOf } = await import('../../../providers/registry.js')
          const rows = providers.map((provider) => ({
            name: provider.name,
            kinds: abilitiesOf(provider),
            state: stateOf(context, provider, workspaceId),
            base_url: (provider.definition as { readonly base_url: string }).base_url,
            orders: orders.flatMap(({ kind, names, condition }) => {
              const place = names.indexOf(provider.name) + 1
              return place > 0 ? [`${kind} ${place}${condition && ` when ${condition}`}`] : []
            }),
          }))
          const free = { base_url: null, orders: [] }
          const stored = ['email', 'personal_email', 'phone', 'person', 'company']
          return [
            { ...free, name: 'catalogue', kinds: stored, state: 'built in, first' },
            ...rows,
            { ...free, name: 'pattern', kinds: ['email'], state: 'built in, last' },
            { ...free, name: 'mx', kinds: ['verify'], state: 'built in' },
          ]
        },
        { columns: ['name', 'kinds', 'state', 'orders', 'base_url'], optional: ['orders', 'base_url'] },
      ),
    command('check', 'Check the file of a provider, and say what it asks, costs and reads, without adding it')
      .argument('<file>', 'its file (YAML or JSON)')
      .withOptions(optionRows({ allowTarget: allowTarget }))
      .printResult(
        async ({ streams }, { args: [path = ''], options }) => {
          const { checkProvider } = await import('../../../providers/registry.js')
          const text = await readText(streams, resolve(streams.cwd, path))
          const { compiled } = await checkProvider(text, path, options.allowTarget ?? [])
          const { describeProvider } = await import('./describe.js')
          return describeProvider(compiled)
        },
        { layout: describedIn },
      ),
    command('show', 'Say what a provider or template asks, costs and reads')
      .argument('<name>', 'its name, or that of a template')
      .withOptions(optionRows({ yaml: ['', 'print its file instead, to change it and add that'] }))
      .printResult(
        async (context, { args: [name = ''], options }) => {
          const { describeProvider } = await import('./describe.js')
          const template = templateOf(name)
          const added = (await storedProviders(context)).find((one) => one.name === name)
          const file = added?.definition ?? template?.file
          if (options.yaml && file) return printFile(context, file)
          if (added || !template)
            return describeProvider((await (await openLocalRegistry(context)).open(name)).compiled)
          const { checkProvider } = await import('../../../providers/registry.js')
          const { compiled } = await checkProvider(JSON.stringify(template.file), name, [])
          return describeProvider(compiled, template)
        },
        { layout: describedIn },
      ),
    command('add', 'Add a provider from its file, or from a template, and store its key')
      .argument('<file>', `its file (YAML or JSON), or a template: ${Object.keys(templates).join(', ')}`)
      .withOptions(addOptions)
      .printResult(async (context, { args: [source = ''], options }) => {
        requireLocal(context)
        const { abilitiesOf, checkKey, checkProvider, checkWebhookSecret } = await import(
          '../../../providers/registry.js'
        )
        const { allowTarget = [] } = options
        const { file } = await checkProvider(await readSource(context, source), source, allowTarget)
        const secret = await readWebhookSecret(context, file, options.webhookSecretFile)
        const key = await readKey(context, source, options, new Refusal('usage.no_provider_key'))
        checkKey(file, key)
        checkWebhookSecret(file, secret ?? key)
        await openAdmin(context, 'records')
        const registry = await openLocalRegistry(context)
        const added = await registry.add(file, allowTarget)
        const keyName = providerKeyName(added.workspaceId, added.name)
        storeKey(context, keyName, key)
        const secretName = webhookSecretName(keyName)
        if (secret !== undefined) storeKey(context, secretName, secret)
        else forgetKey(context, secretName)
        return { added: added.name, kinds: abilitiesOf(added) }
      }),
    command('remove', 'Remove a provider, and forget its key')
      .argument('<name>', 'its name')
      .printResult(async (context, { args: [name = ''] }) => {
        const registry = await openLocalRegistry(context)
        await registry.remove(name)
        const keyName = providerKeyName(await registry.workspaceId(), name)
        forgetKey(context, keyName)
        forgetKey(context, webhookSecretName(keyName))
        return { removed: name }
      }),
    toggle('enable', 'Ask a provider again, also after a pause', true),
    toggle('disable', 'Ask a provider no more, and keep it', false),
    command('order', 'Set which providers are asked for a kind, and in which order')
      .argument('<kind>', 'email, personal_email, phone, person, company or verify')
      .argument('[names]', 'the providers, as a,b,c; without them, all in the order of their addition')
      .withOptions({
        when: ['<condition>', "only where this is true, such as 'headcount > 500'"],
      })
      .printResult(async (context, { args: [kind = '', names = ''], options }) => {
        const registry = await openLocalRegistry(context)
        const list = names
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '')
        await registry.order(kind, list, options.when)
        return { kind, order: list, ...(options.when === undefined ? {} : { when: options.when }) }
      }),
    testCommand,
    command('stats', 'How often each provider found something, and what that cost')
      .withOptions(optionRows({ by: ['<what>', 'also by day | member | run', ['day', 'member', 'run']] }))
      .reads('engine')
      .printResult(
        async (context, { options }) => {
          const registry = await openLocalRegistry(context)
          const { by } = options
          const sums = await registry.spending(withoutUndefined({ by }))
          return sums.map((sum) => toStatsRow(sum, by))
        },
        {
          columns: [...countColumns, 'hit_rate', 'cost', 'cost_per_result', 'unknown', 'seconds'],
          layout: (rows, look) => statsChart(rows as readonly StatsRow[], look),
        },
      ),
    command('balance', 'Ask providers what is left of their credits').printResult(
      async (context) => {
        const registry = await openLocalRegistry(context)
        const rows = []
        for (const { name } of await registry.list()) {
          const { compiled, key, http, target } = await openProvider(context, name)
          const { balance } = compiled
          const answer =
            balance && key !== undefined
              ? await http.send(target, balance.request, compiled.timeoutMs).catch((error: unknown) => error)
              : undefined
          const isAnswer = answer !== undefined && !(answer instanceof Error)
          const credits = isAnswer ? balance?.credits(answer as VendorAnswer) : undefined
          const failure = answer instanceof Error ? answer.message : null
          const note = balance ? (key === undefined ? 'no key here' : failure) : 'its file has no balance'
          rows.push({ name, credits: credits ?? null, note })
        }
        return rows
      },
      { columns: ['name', 'credits', 'note'] },
    ),
  ])

function requireLocal(context: Context): void {
  if (!context.isLocal()) throw new Refusal('usage.providers_of_server')
}

/** Opens the providers of the workspace in use. Throws a Refusal where there is none. */
async function openLocalRegistry(context: Context): Promise<Registry> {
  requireLocal(context)
  await requireEngine(context)
  return openRegistry(context)
}

function stateOf(context: Context, provider: StoredProvider, workspaceId: string): string {
  const { name, enabled, pausedBy, pausedUntil } = provider
  if (!enabled) return 'disabled'
  if (storedKey(context.home, providerKeyName(workspaceId, name)) === undefined) return 'no key here'
  if (pausedUntil > context.clock.now()) return `paused: ${pausedBy?.replaceAll('_', ' ')}`
  return 'in use'
}

const allowTarget = [
  '<network>',
  'let its address be in this network, and begin with http://, such as 10.1.0.0/16 (repeatable)',
  networks,
] as const

const addOptions = optionRows({
  ...keyOptions,
  webhookSecretFile: [
    '<file>',
    'read the secret that its webhooks are signed with, where that is not the key',
  ],
  allowTarget,
})

/** Reads the secret that a vendor signs its webhooks with; `undefined` where that is its key. */
async function readWebhookSecret(context: Context, file: ProviderFile, path: string | undefined) {
  if (path === undefined) return undefined
  const { streams } = context
  const isSigned = Object.values(file.kinds).some(({ webhook }) => webhook?.sign !== undefined)
  if (!isSigned) throw new Refusal('usage.webhook_secret', { name: file.name })
  checkSecret(resolve(streams.cwd, path))
  const secret = keyIn(await readText(streams, resolve(streams.cwd, path), '--webhook-secret-file'), path)
  context.conceal(secret)
  return secret
}

interface Template {
  readonly page: string
  readonly read: string
  readonly unconfirmed: string
  readonly file: object
}

const templateOf = (name: string): Template | undefined =>
  Object.hasOwn(templates, name) ? templates[name as keyof typeof templates] : undefined

/** Prints the file of a provider, to stdout or to the file of `-o`. */
async function printFile(context: Context, file: object): Promise<void> {
  const { streams, globals } = context
  const text = await writeDefinition(file)
  const output = fileOf(globals)
  if (output === undefined) return writeTo(streams.stdout, text)
  const sink = await openFile(context, resolve(streams.cwd, output), '-o')
  await sink.write(text)
  await sink.finish()
}

const describedIn = async (body: unknown) => (await import('./describe.js')).layOutDescription(body)

/** Returns the providers that were added; none where there is no workspace of this machine yet. */
async function storedProviders(context: Context): Promise<StoredProvider[]> {
  if (!context.isLocal() || !(await openWorkspaceOwner(context))) return []
  return (await openLocalRegistry(context)).list()
}

async function readSource({ streams, notify }: Context, source: string): Promise<string> {
  const path = resolve(streams.cwd, source)
  if (existsSync(path)) return readText(streams, path)
  const template = templateOf(source)
  if (template) {
    notify(`This template was not tried against the live service. Not confirmed: ${template.unconfirmed}`)
    return JSON.stringify(template.file, null, 2)
  }
  throw new Refusal('usage.no_template', { source, known: Object.keys(templates) })
}

const toggle =
  (word: string, summary: string, enabled: boolean): CommandFactory =>
  ({ command }) =>
    command(word, summary)
      .argument('<name>', 'its name')
      .printResult(async (context, { args: [name = ''] }) => {
        const registry = await openLocalRegistry(context)
        await registry.enable(name, enabled)
        return { name, enabled }
      })

async function openProvider(context: Context, name: string) {
  const registry = await openLocalRegistry(context)
  const { stored, compiled } = await registry.open(name)
  const key = storedKey(context.home, providerKeyName(stored.workspaceId, name))
  // An answer may repeat what was sent.
  const { createVendorHttp, splitClient } = await import('../../../providers/http.js')
  const secrets = [key ?? '', Buffer.from(key ?? '').toString('base64')]
  const { oauth } = compiled.file.auth
  const hasClient = oauth && oauth.client_id === undefined
  for (const secret of hasClient ? [...secrets, splitClient(key ?? '')[1]] : secrets) context.conceal(secret)
  const http = createVendorHttp(context.clock)
  context.onClose(() => http.close())
  const target = { file: compiled.file, allow: stored.allow, key: key ?? '' }
  return { registry, stored, compiled, key, http, target }
}

const testCommand: CommandFactory = ({ command }) =>
  command('test', 'Send one real request, and show what was read from the answer')
    .argument('<name>', 'its name')
    .withOptions({
      kind: ['<kind>', 'what to ask for (default: the first in its file)'],
      ...Object.fromEntries(
        subjectFields.map((field) => [optionName(field), ['<text>', 'whom to ask about']] as const),
      ),
      column: [
        '<Column=text>',
        'what a column of a file says, for one that is asked with it (repeatable)',
        repeated,
      ],
    })
    .printResult(async (context, { args: [name = ''], options }) => {
      const { registry, stored, compiled, key, http, target } = await openProvider(context, name)
      const { file } = compiled
      const { column = [], ...given } = options as Readonly<Record<string, string | undefined>> & {
        readonly column?: readonly string[]
      }
      const named = subjectFields.map((field) => [field, given[optionName(field)]] as const)
      const ofFile = column.map((pair) => {
        const [, of = pair, text] = /^(.+?)=(.*)$/s.exec(pair) ?? []
        return [`input.${of}`, text] as const
      })
      const typed = Object.fromEntries([...named, ...ofFile].filter(([, text]) => text))
      const subject: Subject = Object.keys(typed).length > 0 ? typed : (file.test?.row ?? {})
      if (Object.keys(file.kinds).length === 0) throw new Refusal('provider.only_search', { name })
      const word = given.kind ?? Object.keys(file.kinds)[0] ?? ''
      const kind = compiled.kinds[word as keyof typeof compiled.kinds]
      const fields = kind?.fieldsOf(subject)
      if (!kind || !fields)
        throw kind
          ? new Refusal('provider.needs_more', { name, kind: word, needs: kind.file.needs })
          : new Refusal('provider.lacks_kind', { name, kind: word, kinds: Object.keys(file.kinds) })
      if (kind.file.webhook && !kind.file.poll)
        throw new Refusal('provider.only_webhook', { name, kind: word })
      const suppressor = await context.suppressor()
      const identity = {
        url: subject.network_url,
        firstName: subject.first_name,
        lastName: subject.last_name,
        domain: subject.domain,
        companyName: subject.company_name,
      }
      const known = suppressor && (await (await context.catalogue()).person(identity))
      if ((await suppressor?.areAbout([{ ...known, ...subject }]))?.[0]) throw new Refusal('usage.suppressed')
      const isFree = Object.keys(typed).length === 0 && file.test?.key !== undefined
      if (!isFree && key === undefined) throw new Refusal('usage.provider_key_elsewhere', { name })
      const request = kind.request([{ ...fields, row: '1' }])
      const to = { ...target, key: isFree ? (file.test?.key ?? '') : target.key }
      const send = async (one: VendorRequest) => {
        const { text, ...said } = await http.send(to, one, compiled.timeoutMs)
        return said
      }
      const { pollWork } = await import('../../../providers/poll.js')
      const { endingOf, isResultOf, readAnswer, asLost } = await import('../../../providers/vendors.js')
      const asked = { kind, key: { kind: word }, fields }
      const sent = { identity: '1', place: 0, ofRows: 1, reserved: kind.most }
      const question = {
        kind: word,
        identity: `test ${context.ids.uuid()}`,
        subject: fields,
        reserved: kind.most,
      }
      const begin = () => registry.begin({ stored, compiled }, question, compiled.timeoutMs)
      // A request with a vendor's own key for tests costs nothing, and is not recorded.
      const end = isFree ? async () => {} : await begin()
      if (!end) throw new Refusal('provider.day_budget', { name, most: kind.most / micros })
      let answer = await send(request).catch(async (error: unknown) => {
        const { message, sent } = asLost(error)
        await end(sent ? { state: 'unknown', error: message, cost: 0 } : undefined)
        throw new Refusal('provider.no_answer', { name, reason: message, sent })
      })
      const accepted = kind.file.submit ? kind.isAccepted(answer) : null
      const id = accepted ? kind.idOf(answer) : undefined
      let isResult = accepted === null || isResultOf(asked, sent, answer, id !== undefined)
      if (id !== undefined && !isResult) {
        context.notify(`Accepted. Waiting for the result, up to ${kind.file.poll?.give_up ?? '10m'}.`)
        const poll = async (waitMs: number) => {
          await context.sleep(waitMs)
          const said = await send(kind.poll(id)).catch(asLost)
          if (!(said instanceof Error)) answer = said
          return said
        }
        const read = (one: VendorAnswer) => readAnswer(asked, sent, one).outcome
        isResult = (await pollWork(context, kind, context.clock.now(), poll, read)).is === 'done'
      }
      const { own, outcome } = readAnswer(asked, sent, answer)
      // What a command makes of it: work that did not end has no result, and what was not accepted was not done.
      const ending = isResult ? endingOf(asked, sent, answer) : undefined
      const isTold = outcome?.is !== 'found' && outcome?.is !== 'not_found'
      const said = accepted === null && isTold ? outcome?.is : ending?.state
      const is = said ?? (accepted === false ? (outcome?.is ?? null) : accepted ? 'unknown' : null)
      if (is === null || is === 'unknown') await end({ state: 'unknown', cost: 0 })
      else if (is === 'found' || is === 'not_found' || is === 'failed')
        await end({ state: is, cost: ending?.cost ?? 0 })
      // The vendor did not take it.
      else await end(undefined)
      return {
        request: { method: request.method, path: request.path, body: request.body ?? null, key: 'hidden' },
        answer: { status: answer.status, body: redactBody(context, answer.body) },
        accepted,
        outcome: is,
        read: is === 'found' ? kind.resultOf(own, fields) : null,
        cost: ending === undefined || is === null ? null : ending.cost / micros,
        test_key: isFree,
      }
    })

const optionName = (field: string): string => attribute(field.replaceAll('_', '-'))

const countColumns = ['provider', 'kind', 'asked', 'found']

type StatsRow = ReturnType<typeof toStatsRow>

function toStatsRow(sum: Awaited<ReturnType<Registry['spending']>>[number], by: string | undefined) {
  const { provider, kind, asked, found, notFound, unknown, failed, cost } = sum
  const answered = found + notFound
  return {
    provider,
    kind,
    ...(by === undefined ? {} : { [by]: sum.by }),
    asked,
    found,
    not_found: notFound,
    unknown,
    failed,
    hit_rate: answered === 0 ? null : Math.round((found / answered) * 1_000) / 10,
    cost: cost / micros,
    cost_per_result: found === 0 ? null : sum.costFound / found / micros,
    cost_per_miss: notFound === 0 ? null : (cost - sum.costFound) / notFound / micros,
    at_risk: sum.atRisk / micros,
    seconds: answered === 0 ? null : Math.round(sum.ms / answered) / 1_000,
  }
}

function statsChart(rows: readonly StatsRow[], look: Look): string {
  if (rows.length === 0) return 'No provider was asked yet.\n'
  const drawn = rows.map(({ provider, kind, asked, found, hit_rate, cost }) => ({
    label: `${provider} ${kind}`,
    value: hit_rate ?? 0,
    note: `% found: ${formatNumber(found)} of ${formatNumber(asked)}, for ${countOf(cost, 'credit')}`,
  }))
  const chart = bars(drawn, look)
  const kinds = Map.groupBy(rows, ({ kind }) => kind)
  // Asking the one first that finds most for its cost makes a result cheapest.
  const price = ({ cost, found }: StatsRow) => (found === 0 ? Number.POSITIVE_INFINITY : cost / found)
  const orders = [...kinds].flatMap(([kind, of]) => {
    const names = of.toSorted((one, other) => price(one) - price(other)).map(({ provider }) => provider)
    return names.length < 2 ? [] : [`Cheapest order: prospect providers order ${kind} ${names.join(',')}\n`]
  })
  return [chart, ...orders].join('')
}
