import { ConnectionLost, isOk } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { isMeteredPlan, ownPlan } from '../../../api/operations/plans.js'
import { localOrigin } from '../../../api/values/key-names.js'
import { resultOr, withoutUndefined } from '../../../api/values/objects.js'
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
import { reportOfReply, Stop, withoutStop } from '../../context/errors.js'
import { profileInUse } from '../../context/home.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { optionRows } from '../../options/values.js'
import { print } from '../../output/print.js'
import { agrees, askChoice, askSecret, askText, canAsk } from '../../output/prompt.js'
import { numberAt, stringAt } from '../../output/records.js'
import {
  addressesText,
  baseUrlsOf,
  isKeyFor,
  type RemoteTarget,
  targetIn,
} from '../../target/resolve-target.js'
import { addSample } from '../data/sample.js'
import { changeProfile, currentProfile } from './profiles.js'

export const loginCommand: CommandFactory = ({ command }) =>
  command('login', 'Store the API key of a server, after trying it with a free request')
    .withTarget('profile', 'baseUrl', 'insecureHttp', 'apiKeyFile', 'apiKeyStdin')
    .option('--sync', 'for the address in sync_base_url, where the synchronous waterfall has another origin')
    .run(async (context, { options }) => {
      const target = requireServer(context)
      const owner = ownerOf(target, options)
      const { origin } = owner
      const key = await readNewKey(context, owner)
      // The synchronous address has no request that is free.
      const tried: KeyTried = options.sync ? {} : await tryServers(context, target, key)
      const { credits = null, member, servers } = tried
      storeKeyOf(context, owner, key, member)
      await print(context, withoutUndefined({ origin, stored: true, credits, servers }))
      await offerServer(context)
    })

const storeKeyOf = (
  context: Context,
  owner: ServerKeyOwner,
  key: string,
  member: string | undefined,
): void => {
  const others = owner.origins.filter((each) => each !== owner.origin)
  storeKey(context, keyNameOf(owner), key, { member, ...(others.length > 0 ? { origins: others } : {}) })
}

/**
 * Asks whether commands use the server from now on, where they do not. Without a person to ask, says how to choose it; where
 * nothing else was set up, there is nothing to choose.
 */
async function offerServer(context: Context): Promise<void> {
  const baseUrl = addressesText(requireServer(context))
  // A profile without an address is for no server yet.
  const usual = resultOr(undefined, () =>
    targetIn(context.withGlobals({ baseUrl: undefined, direct: undefined })),
  )
  const used = usual?.kind === 'remote' ? addressesText(usual) : usual && 'the engine of this machine'
  if (used === baseUrl) return
  const { base_url: kept, target, insecure_http } = profileInUse(context)
  const changes = {
    ...(kept === baseUrl ? {} : { base_url: baseUrl }),
    ...(target === 'local' ? { target: 'remote' } : {}),
    ...(insecure_http === 'yes' ? {} : permissionIn(context, baseUrl)),
  }
  const { profile } = context.globals
  const suffix = profile === undefined ? '' : ` --profile ${profile}`
  const commands = suffix === '' ? 'Commands' : `Commands with${suffix}`
  const usedNow = used === undefined ? '' : `${commands} still use ${used}. `
  if (canAsk(context) && usedNow !== '') context.notify(usedNow.trim())
  const isOnlyOne =
    !canAsk(context) &&
    usual?.kind === 'local' &&
    target !== 'local' &&
    !(await context.withGlobals({ baseUrl: undefined, local: true }).isSetUp())
  const offered = usual?.kind === 'remote' ? 'no' : 'yes'
  if (isOnlyOne || (await agrees(context, `Use ${baseUrl} from now on?`, offered))) {
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

/** Returns the permission for http that was given with an address of another machine, to be kept with it. */
const permissionIn = ({ globals }: Context, baseUrl: string): { readonly insecure_http?: 'yes' } =>
  globals.insecureHttp && /(?:^|,)http:/i.test(baseUrl) ? { insecure_http: 'yes' } : {}

export const logoutCommand: CommandFactory = ({ command }) =>
  command('logout', 'Forget the stored API key of a server')
    .withTarget('profile', 'baseUrl', 'insecureHttp')
    .option('--sync', 'of the address in sync_base_url')
    .run(async (context, { options }) => {
      const owner = ownerOf(requireServer(context), options)
      const { origin } = owner
      const removed = forgetKey(context, keyNameOf(owner)) || forgetKey(context, origin)
      if (!removed) context.notify(`There was no key stored for ${origin}.`)
      else if (storedKeyOf(context.home, owner) !== undefined)
        context.notify(`The key that is stored for ${origin} without a profile is used now.`)
      await print(context, { origin, removed })
    })

function requireServer(context: Context): RemoteTarget {
  const target = targetIn(context)
  if (target.kind === 'remote') return target
  throw new Refusal('usage.login_local')
}

/** Whose key it is, and the origins that get it. */
type ServerKeyOwner = KeyOwner & Pick<RemoteTarget, 'origins'>

function ownerOf(target: RemoteTarget, { sync }: { readonly sync?: boolean }): ServerKeyOwner {
  const { syncOrigins: origins, profile } = target
  if (!sync) return target
  const [origin] = origins ?? []
  if (origins && origin !== undefined) return { origin, origins, profile }
  throw new Refusal('usage.no_sync_url')
}

/** Returns the key to store: from a file or stdin, else typed, else from the environment if it may go to this server. */
async function readNewKey(context: Context, { origin, origins }: ServerKeyOwner): Promise<string> {
  const { env } = context.streams
  const isGiven = context.globals.apiKeyFile !== undefined || context.globals.apiKeyStdin === true
  const typed = isGiven ? undefined : await askSecret(context, `API key for ${origin}`, keyIn)
  const given = isGiven || isKeyFor(origins, env) ? givenKey(context.streams, context.globals) : undefined
  const key = typed === undefined ? await given : keyIn(typed)
  if (key === undefined) throw new Refusal('usage.no_api_key')
  context.conceal(key)
  return key
}

const timeoutMs = 30_000

/** What is known of a key that was tried; of several servers, which of them answered. */
interface KeyTried {
  readonly credits?: number | undefined
  readonly member?: string | undefined
  readonly servers?: readonly ServerTried[]
}

interface ServerTried {
  readonly base_url: string
  readonly answered: boolean
  readonly error: string | null
}

/**
 * Tries a key at each server of a target. Returns its balance and owner as the first one says, and which of several answered.
 * Throws where the first one does not accept it, or another one refuses it.
 */
async function tryServers(
  context: Context,
  { baseUrl, otherUrls }: RemoteTarget,
  apiKey: string,
): Promise<KeyTried> {
  if (otherUrls.length === 0) return tryKey(context, apiKey)
  const tryAt = (url: string) => tryKey(context.withGlobals({ baseUrl: url }), apiKey, `${url}: `)
  const first = await tryAt(baseUrl)
  const servers: ServerTried[] = [{ base_url: baseUrl, answered: true, error: null }]
  for (const url of otherUrls) servers.push(await tryOther(url, () => tryAt(url)))
  const toLine = ({ base_url, error }: ServerTried) =>
    error === null
      ? `${base_url} accepts the key.`
      : `${base_url} did not answer (${withoutStop(error)}). The key is stored for it, too.`
  for (const server of servers) context.notify(toLine(server))
  return { ...first, servers }
}

/** One that does not answer now may have the key all the same; one that refuses it is not over the same database. */
async function tryOther(base_url: string, attempt: () => Promise<unknown>): Promise<ServerTried> {
  try {
    await attempt()
    return { base_url, answered: true, error: null }
  } catch (error) {
    const isSilent =
      error instanceof ConnectionLost || (error instanceof Stop && error.exit === exitCodes.unreachable)
    if (isSilent) return { base_url, answered: false, error: error.message }
    throw error
  }
}

/** Tries a key with free requests. Returns its balance and owner; throws a `Stop` when the server refuses the key. */
async function tryKey(context: Context, apiKey: string, prefix = ''): Promise<KeyTried> {
  const caller = await context.caller()
  const call = { apiKey, signal: AbortSignal.timeout(timeoutMs) }
  const reply = await caller.call('credits.show', {}, call)
  if (reply.status === 404 || reply.unusable !== undefined)
    throw new Refusal('usage.other_api', { url: requireServer(context).baseUrl })
  if (!isOk(reply)) {
    const { error, code, exit_code } = reportOfReply(reply)
    throw new Stop(`${prefix}${withoutStop(error)}.`, exit_code, 'The key was not stored.', code)
  }
  // Some servers refuse this to a key of few scopes; the owner is only named.
  const account = await caller.call('account.show', {}, call).catch(() => undefined)
  const member = account && isOk(account) ? stringAt(account.body, 'account.email') : undefined
  return { credits: numberAt(reply.body, 'credits.enrichment'), member }
}

export const initCommand: CommandFactory = ({ command }) =>
  command('init', 'Choose where lookups go: this machine, or a server you have a key for')
    .withTarget('profile', 'local', 'baseUrl', 'insecureHttp', 'apiKeyFile', 'apiKeyStdin')
    .withOptions(initOptions)
    .run(async (context, { options }) => {
      const { local, baseUrl } = context.globals
      const { sample, ownData } = options
      if (ownData && sample) throw new Refusal('usage.own_data_or_sample')
      // Where a workspace exists, too, to connect a server later.
      const isGiven = [local, baseUrl, sample, ownData, context.globals.yes].some((one) => one !== undefined)
      const asked = isGiven ? undefined : await askForPlace(context)
      const place = local ? undefined : (baseUrl ?? asked)
      if (place !== undefined && !isHere(place)) return initRemote(context, place)
      if (place !== undefined) await leaveServer(context)
      const chosen = {
        ownData: ownData ?? place === 'own',
        sample: sample ?? (await offerSample(context, place)),
      }
      await print(context, await initLocal(context, chosen))
    })

interface LocalChoices {
  readonly sample: boolean
  readonly ownData: boolean
}

/** Creates the workspace of this machine. One that exists stays as it is. */
async function initLocal(context: Context, { sample, ownData }: LocalChoices) {
  const admin = await context.admin()
  const { workspace, member, key, credits, created } = await admin.init({ isOwnData: ownData })
  if (key !== undefined) storeKey(context, localOrigin(workspace.id), key)
  if (!created) {
    const isOther = ownData && isMeteredPlan(workspace.plan)
    const change = isOther
      ? ` To look up your own data without credits: prospect engine plan set ${ownPlan}`
      : ''
    context.notify(`The workspace ${workspace.name} exists already. Nothing was changed.${change}`)
  }
  if (sample) await addSample(context)
  // Until it has data, every lookup is refused.
  else if ((await context.source())?.kind === 'empty') context.notify(noDataYet(ownData))
  const { name: profile } = currentProfile(context)
  return { workspace: workspace.name, member: member.email, plan: workspace.plan, credits, profile }
}

/** Asks a person at a terminal as `init` does. Returns the context in which their command goes on; `engine` gets the workspace. */
export async function askToSetUp(context: Context, engine: Context): Promise<Context> {
  context.notify('prospect is not set up yet.')
  const place = await askForPlace(context)
  if (place !== undefined && !isHere(place)) {
    // The output of the command is that of its lookup.
    await initRemote(context, place, async () => {})
    return context.withGlobals({ baseUrl: place })
  }
  await initLocal(engine, { ownData: place === 'own', sample: await offerSample(engine, place) })
  return context
}

const noDataYet = (isOwnData: boolean): string =>
  `There is no data yet. ${isOwnData ? 'Load yours:' : 'Load invented companies and people: prospect data sample. Or your own:'} prospect data import companies FILE`

/** Asks whether to load the sample, where somebody chose to practise; elsewhere the answer is no. */
const offerSample = async (context: Context, place: string | undefined): Promise<boolean> =>
  place === 'practice' &&
  (await context.source())?.kind === 'empty' &&
  (await agrees(context, 'Load invented companies and people to practise with?', 'yes'))

const initOptions = optionRows({
  ownData: ['', 'for data that you import: lookups cost no credits and use no quotas'],
  sample: ['', 'load sample companies and people too'],
})

async function leaveServer(context: Context): Promise<void> {
  const { name, profile } = currentProfile(context)
  if (profile.base_url === undefined || profile.target === 'local') return
  await changeProfile(context, name, { target: 'local' })
  context.notify(`Every command now uses this machine, no longer ${profile.base_url}.`)
}

const here = [
  { value: 'practice', name: 'To practice data on this machine, with credits to practise with' },
  { value: 'own', name: 'To my own data on this machine, which costs nothing' },
] as const
const there = { value: 'remote', name: 'To a vendor: a server that I have an API key for' } as const

const isHere = (place: string): boolean => here.some(({ value }) => value === place)

/** Asks for the address of a server; returns what the engine of this machine is for, `undefined` without a terminal. */
async function askForPlace(context: Context): Promise<string | undefined> {
  const places = context.globals.local ? here : [...here, there]
  const place = await askChoice(context, 'Where do your searches and lookups go?', places)
  if (place !== 'remote') return place
  const check = (text: string) => baseUrlsOf(text, 'The address', context.globals.insecureHttp)
  const preset = 'https://api.example.com/api/v2'
  return (await askText(context, 'Address of the server', preset, check))?.trim()
}

/** Points the profile in use to a server. Nothing is stored before the server has accepted the key. */
async function initRemote(given: Context, baseUrl: string, show = print): Promise<void> {
  const context = given.withGlobals({ baseUrl })
  const target = targetIn(context)
  if (target.kind !== 'remote') throw new Error('a base url leads to a server')
  const key = await readNewKey(context, target)
  const { credits, member, servers } = await tryServers(context, target, key)
  storeKeyOf(context, target, key, member)
  const profile = currentProfile(context).name
  const base_url = addressesText(target)
  await changeProfile(context, profile, { base_url, target: 'remote', ...permissionIn(context, base_url) })
  await show(context, withoutUndefined({ profile, base_url, credits: credits ?? null, servers }))
  context.notify('Every command now uses this server. Add --local to use the engine of this machine.')
}
