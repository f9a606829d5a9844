import { isOk } from '../../../api/calls/caller.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { resultOr } from '../../../api/values/objects.js'
import type { Context } from '../../context/context.js'
import {
  forgetKey,
  givenKey,
  type KeyOwner,
  keyIn,
  keyNameOf,
  storedKeyOf,
  storeKey,
} from '../../context/credentials.js'
import { reportOfReply, Stop, UsageError } from '../../context/errors.js'
import { profileInUse } from '../../context/settings.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { agrees, askSecret, canAsk } from '../../output/prompt.js'
import { numberAt, stringAt } from '../../output/records.js'
import { isKeyFor, type RemoteTarget, targetIn } from '../../target/resolve-target.js'
import { changeProfile, currentProfile } from './profiles.js'

/** `prospect login`: stores the key of a server after trying it. */
export const loginCommand: CommandFactory = ({ command }) =>
  command('login', 'Store the API key of a server, after trying it with a free request')
    .option('--sync', 'for the address in sync_base_url, where the synchronous waterfall has another origin')
    .run(async (context, { options }) => {
      const owner = ownerOf(requireServer(context), options)
      const { origin } = owner
      const key = await readNewKey(context, owner)
      // The synchronous address has no request that is free.
      const { credits, member } = options.sync ? {} : await tryKey(context, key)
      storeKey(context.home, keyNameOf(owner), key, context.clock.now(), context.ids.uuid(), member)
      await print(context, { origin, stored: true, credits: credits ?? null })
      await offerServer(context)
    })

/** Asks whether commands use the server from now on, where they do not. Without a person to ask, says how to choose it. */
async function offerServer(context: Context): Promise<void> {
  const { baseUrl } = requireServer(context)
  // A profile without an address is for no server yet.
  const usual = resultOr(undefined, () =>
    targetIn(context.withGlobals({ baseUrl: undefined, direct: undefined })),
  )
  const used = usual?.kind === 'remote' ? usual.baseUrl : usual && 'the engine of this machine'
  if (used === baseUrl) return
  const { base_url: kept, target } = profileInUse(context)
  const changes = {
    ...(kept === baseUrl ? {} : { base_url: baseUrl }),
    ...(target === 'local' ? { target: 'remote' } : {}),
  }
  const { profile } = context.globals
  const suffix = profile === undefined ? '' : ` --profile ${profile}`
  const commands = suffix === '' ? 'Commands' : `Commands with${suffix}`
  const usedNow = used === undefined ? '' : `${commands} still use ${used}. `
  if (canAsk(context) && usedNow !== '') context.notify(usedNow.trim())
  if (await agrees(context, `Use ${baseUrl} from now on?`, usual?.kind === 'remote' ? 'no' : 'yes')) {
    await changeProfile(context, currentProfile(context).name, changes)
    context.notify(
      `${commands} use ${baseUrl} from now on. To use the engine of this machine once, add --local.`,
    )
    return
  }
  const toType = Object.entries(changes).map(([key, value]) => `prospect config set ${key} ${value}${suffix}`)
  context.notify(
    `${canAsk(context) ? '' : usedNow}To use this server in all commands: ${toType.join(', then ')}`,
  )
}

/** `prospect logout`: forgets the key of a server. */
export const logoutCommand: CommandFactory = ({ command }) =>
  command('logout', 'Forget the stored API key of a server')
    .option('--sync', 'of the address in sync_base_url')
    .run(async (context, { options }) => {
      const owner = ownerOf(requireServer(context), options)
      const { origin } = owner
      const forget = (name: string) => forgetKey(context.home, name, context.ids.uuid())
      const removed = forget(keyNameOf(owner)) || forget(origin)
      if (!removed) context.notify(`There was no key stored for ${origin}.`)
      else if (storedKeyOf(context.home, owner) !== undefined)
        context.notify(`The key that is stored for ${origin} without a profile is used now.`)
      await print(context, { origin, removed })
    })

function requireServer(context: Context): RemoteTarget {
  const target = targetIn(context)
  if (target.kind === 'remote') return target
  throw new UsageError(
    'The target is the local engine, whose key is stored automatically.',
    'Name the server: --base-url https://api.example.com/api/v2, or --profile NAME',
  )
}

/** Returns whose key is stored, and for which origin. */
function ownerOf(target: RemoteTarget, { sync }: { readonly sync?: boolean }): KeyOwner {
  const { syncBaseUrl, profile } = target
  if (!sync) return target
  if (syncBaseUrl !== undefined) return { origin: new URL(syncBaseUrl).origin, profile }
  throw new UsageError(
    'The profile has no sync_base_url for this server.',
    'Set it: prospect config set sync_base_url https://api.example.com/v2',
  )
}

/** Returns the key to store: from a file or stdin, else typed, else from the environment if it may go to this server. */
export async function readNewKey(
  context: Context,
  { origin }: Pick<RemoteTarget, 'origin'>,
): Promise<string> {
  const { env } = context.streams
  const isGiven = context.globals.apiKeyFile !== undefined || context.globals.apiKeyStdin === true
  const typed = isGiven ? undefined : await askSecret(context, `API key for ${origin}`, keyIn)
  const given = isGiven || isKeyFor(origin, env) ? givenKey(context.streams, context.globals) : undefined
  const key = typed === undefined ? await given : keyIn(typed)
  if (key === undefined)
    throw new Stop(
      'No API key is given, and there is no terminal to ask for one.',
      exitCodes.key,
      'Give it with --api-key-stdin, --api-key-file FILE or PROSPECT_API_KEY.',
      'key',
    )
  context.conceal(key)
  return key
}

/** Maximum time for trying a key. */
const patienceMs = 30_000

/** What a server says about a key. */
interface TriedKey {
  readonly credits?: number | undefined
  readonly member?: string | undefined
}

/** Tries a key with free requests. Returns its balance and owner; throws a `Stop` when the server refuses the key. */
export async function tryKey(context: Context, apiKey: string): Promise<TriedKey> {
  const caller = await context.caller()
  const call = { apiKey, signal: AbortSignal.timeout(patienceMs) }
  const reply = await caller.call('credits.show', {}, call)
  if (reply.status === 404 || reply.unusable !== undefined)
    throw new Stop(
      `${requireServer(context).baseUrl} is not a server of this API: GET /credits gave no balance.`,
      exitCodes.usage,
      'The key was not stored. Check the address; other APIs cannot be connected.',
      'usage',
    )
  if (!isOk(reply)) {
    const { error, code, exit_code } = reportOfReply(reply)
    throw new Stop(`${error.replace(/\.$/, '')}.`, exit_code, 'The key was not stored.', code)
  }
  // Some servers refuse this to a key of few scopes; the owner is only named.
  const account = await caller.call('account.show', {}, call).catch(() => undefined)
  const member = account && isOk(account) ? stringAt(account.body, 'account.email') : undefined
  return { credits: numberAt(reply.body, 'credits.enrichment'), member }
}
