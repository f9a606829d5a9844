import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { StoredProvider } from '../../../engine/tables/providers.js'
import type { Registry } from '../../../providers/registry.js'
import type { Context } from '../../context/context.js'
import { forgetKey, keyIn, providerKeyName, storedKey, storeKey } from '../../context/credentials.js'
import { Stop, UsageError } from '../../context/errors.js'
import { checkSecret } from '../../context/home.js'
import { readStdin, readText } from '../../context/io.js'
import { openAdmin, openEngineStore } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { networks } from '../../options/webhooks.js'
import { askSecret } from '../../output/prompt.js'

/** `prospect providers`: data vendors of your own, which a waterfall asks in their order. */
export const providersCommand: CommandFactory = ({ group }) =>
  group('providers', 'Data vendors of your own, which a waterfall asks in turn', [
    listCommand,
    addCommand,
    removeCommand,
    toggle('enable', 'Ask a provider again, also after a pause', true),
    toggle('disable', 'Ask a provider no more, and keep it', false),
    orderCommand,
  ])

/** Opens the providers of the workspace in use, which the first use creates. */
async function openRegistry(context: Context): Promise<Registry> {
  if (!context.isLocal())
    throw new UsageError(
      'Providers belong to the engine of this machine; the commands here use a server.',
      'Add --local.',
    )
  await openAdmin(context)
  const { createRegistry } = await import('../../../providers/registry.js')
  return createRegistry(await openEngineStore(context))
}

const listCommand: CommandFactory = ({ command }) =>
  command('list', 'List what a waterfall asks, in its order').printResult(
    async (context) => {
      const registry = await openRegistry(context)
      const [providers, orders, workspaceId] = [
        await registry.list(),
        await registry.orders(),
        await registry.workspaceId(),
      ]
      const { kindsOf } = await import('../../../providers/registry.js')
      const rows = providers.map((provider) => ({
        ...{ name: provider.name, kinds: kindsOf(provider) as readonly string[] },
        state: stateOf(context, provider, workspaceId),
        base_url: (provider.definition as { readonly base_url: string }).base_url as string | null,
        orders: orders
          .filter(({ names }) => names.includes(provider.name))
          .map(
            ({ kind, names, condition }) =>
              `${kind} ${names.indexOf(provider.name) + 1}${condition === '' ? '' : ` when ${condition}`}`,
          ),
      }))
      const free = (name: string, kinds: readonly string[], state: string) => ({
        ...{ name, kinds, state, base_url: null, orders: [] },
      })
      return [
        free('catalogue', ['email', 'personal_email', 'phone', 'person', 'company'], 'built in, first'),
        ...rows,
        free('pattern', ['email'], 'built in, last'),
        free('mx', ['verify'], 'built in'),
      ]
    },
    { columns: ['name', 'kinds', 'state', 'orders', 'base_url'], optional: ['orders', 'base_url'] },
  )

function stateOf(context: Context, provider: StoredProvider, workspaceId: string): string {
  const { name, enabled, pausedBy, pausedUntil } = provider
  if (!enabled) return 'disabled'
  if (storedKey(context.home, providerKeyName(workspaceId, name)) === undefined) return 'no key here'
  if (pausedUntil > context.clock.now()) return `paused: ${pausedBy?.replaceAll('_', ' ')}`
  return 'in use'
}

const addOptions = optionRows({
  keyFile: ['<file>', 'read the key from a file'],
  keyStdin: ['', 'read the key from stdin'],
  allowTarget: [
    '<network>',
    'let its address be in this network, and begin with http://, such as 10.1.0.0/16 (repeatable)',
    networks,
  ],
})

const addCommand: CommandFactory = ({ command }) =>
  command('add', 'Add a provider from its file, or from a template, and store its key')
    .argument('<file>', 'its file (YAML or JSON)')
    .withOptions(addOptions)
    .printResult(async (context, { args: [source = ''], options }) => {
      const registry = await openRegistry(context)
      const path = resolve(context.streams.cwd, source)
      if (!existsSync(path)) throw new UsageError(`There is no file ${source}.`)
      const text = await readText(context.streams, path, source)
      const workspaceId = await registry.workspaceId()
      const key = await readKey(context, source, options)
      const { name } = await registry.add(text, source, options.allowTarget ?? [])
      const { kindsOf } = await import('../../../providers/registry.js')
      storeKey(context.home, providerKeyName(workspaceId, name), key, context.clock.now(), context.ids.uuid())
      const added = (await registry.list()).find((one) => one.name === name)
      return { added: name, kinds: added ? kindsOf(added) : [] }
    })

/** Reads the key of a provider: from a file, stdin or a person, never from an argument. */
async function readKey(
  context: Context,
  source: string,
  { keyFile, keyStdin }: OptionsOf<typeof addOptions>,
): Promise<string> {
  const { streams } = context
  if (keyFile !== undefined && keyStdin)
    throw new UsageError('--key-file and --key-stdin cannot be used together.')
  if (keyFile !== undefined) checkSecret(resolve(streams.cwd, keyFile))
  const text = keyStdin
    ? await readStdin(streams, 64 * 1024)
    : keyFile !== undefined
      ? await readText(streams, resolve(streams.cwd, keyFile), '--key-file')
      : await askSecret(context, `API key for ${source}`, keyIn)
  if (text === undefined)
    throw new Stop(
      'No key is given, and there is no terminal to ask for one.',
      exitCodes.key,
      'Give it with --key-file FILE or --key-stdin.',
      'key',
    )
  const key = keyIn(text)
  context.conceal(key)
  return key
}

const removeCommand: CommandFactory = ({ command }) =>
  command('remove', 'Remove a provider, and forget its key')
    .argument('<name>', 'its name')
    .printResult(async (context, { args: [name = ''] }) => {
      const registry = await openRegistry(context)
      await registry.remove(name)
      forgetKey(context.home, providerKeyName(await registry.workspaceId(), name), context.ids.uuid())
      return { removed: name }
    })

const toggle =
  (word: string, summary: string, enabled: boolean): CommandFactory =>
  ({ command }) =>
    command(word, summary)
      .argument('<name>', 'its name')
      .printResult(async (context, { args: [name = ''] }) => {
        const registry = await openRegistry(context)
        await registry.enable(name, enabled)
        return { name, enabled }
      })

const orderCommand: CommandFactory = ({ command }) =>
  command('order', 'Set which providers are asked for a kind, and in which order')
    .argument('<kind>', 'email, personal_email, phone, person, company or verify')
    .argument('[names]', 'the providers, as a,b,c; without them, all in the order of their addition')
    .withOptions({
      when: ['<condition>', "only where this is true, such as 'headcount > 500'"],
    })
    .printResult(async (context, { args: [kind = '', names = ''], options }) => {
      const registry = await openRegistry(context)
      const list = names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '')
      await registry.order(kind, list, options.when)
      return { kind, order: list, ...(options.when === undefined ? {} : { when: options.when }) }
    })
