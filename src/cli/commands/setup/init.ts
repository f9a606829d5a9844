import { InvalidArgumentError } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { Admin } from '../../../engine/admin/admin.js'
import type { Context } from '../../context/context.js'
import { keyNameOf, localOrigin, storeKey } from '../../context/credentials.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { print } from '../../output/print.js'
import { askChoice, askText } from '../../output/prompt.js'
import { baseUrlOf, targetIn } from '../../target/resolve-target.js'
import { addSample } from '../data/sample.js'
import { readNewKey, tryKey } from './login.js'
import { changeProfile, currentProfile } from './profiles.js'

/** `prospect init`: the local workspace, made with the names you like, or a server to use from now on. */
export const initCommand: CommandFactory = ({ command }) =>
  command('init', 'Choose where lookups go: this machine, or a server you have a key for')
    .withOptions(initOptions)
    .run(init)

function parseWorkspaceName(text: string): string {
  if (!/^\S.{0,99}$/.test(text)) throw new InvalidArgumentError('Give a name of 1 to 100 characters.')
  return text
}

function parseEmail(text: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(text) || text.length > 254)
    throw new InvalidArgumentError('Give an email address.')
  return text.toLowerCase()
}

const initOptions = optionRows({
  workspace: ['<name>', 'name of the workspace (default: Local)', parseWorkspaceName],
  email: ['<address>', 'email address of its first member (default: me@localhost)', parseEmail],
  sample: ['', 'load sample companies and people too'],
})

type InitChoices = OptionsOf<typeof initOptions>

async function init(context: Context, { options }: Invocation<InitChoices>): Promise<number> {
  const { local, baseUrl } = context.globals
  const place = local ? undefined : (baseUrl ?? (await choosePlace(context, options)))
  if (place !== undefined && place !== 'local') return initRemote(context, place)
  if (place === 'local') await leaveServer(context)
  const admin = await context.admin({ create: false })
  const made = await admin.init(await readNames(context, admin, options))
  const { workspace, member, key, credits, created } = made
  if (key !== undefined)
    storeKey(context.home, localOrigin(workspace.id), key, context.clock.now(), context.ids.uuid())
  if (!created) context.notify(`The workspace ${workspace.name} exists already. Nothing was changed.`)
  if (options.sample) await addSample(context, {})
  const profile = currentProfile(context).name
  await print(context, {
    workspace: workspace.name,
    member: member.email,
    plan: workspace.plan,
    credits,
    profile,
  })
  return 0
}

/** Asks where to look things up, unless an option decides it: also where a workspace exists, to connect a server later. */
async function choosePlace(
  context: Context,
  { workspace, email, sample }: InitChoices,
): Promise<string | undefined> {
  const isGiven = [workspace, email, sample, context.globals.yes].some((value) => value !== undefined)
  return isGiven ? undefined : askForPlace(context)
}

/** Points the profile in use to this machine, where it is that of a server. */
async function leaveServer(context: Context): Promise<void> {
  const { name, profile } = currentProfile(context)
  if (profile.base_url === undefined || profile.target === 'local') return
  await changeProfile(context, name, { target: 'local' })
  context.notify(`Every command now uses this machine, no longer ${profile.base_url}.`)
}

/** Returns the names in the options. On a terminal it asks for missing ones, when there is a workspace to create. */
async function readNames(
  context: Context,
  admin: Admin,
  { workspace, email }: InitChoices,
): Promise<InitChoices> {
  const isAsking = !context.globals.yes && (await admin.workspaces()).length === 0
  const read = async (
    given: string | undefined,
    question: string,
    preset: string,
    parse: (text: string) => string,
  ) => {
    const text = given ?? (isAsking ? await askText(context, question, preset, parse) : undefined)
    return text === undefined ? undefined : parse(text)
  }
  return withoutUndefined({
    workspace: await read(workspace, 'Name of the workspace', 'Local', parseWorkspaceName),
    email: await read(email, 'Your email address', 'me@localhost', parseEmail),
  })
}

/** Asks for the address of a server; returns `local` for the engine of this machine, `undefined` without a terminal. */
async function askForPlace(context: Context): Promise<string | undefined> {
  const places = [
    { value: 'local', name: 'On this machine: practice data, or data of your own' },
    { value: 'remote', name: 'At a server that you have an API key for' },
  ] as const
  const place = await askChoice(context, 'Where do your searches and lookups go?', places)
  if (place !== 'remote') return place
  const check = (text: string) => baseUrlOf(text.trim(), 'The address', context.globals.insecureHttp)
  const preset = 'https://api.example.com/api/v2'
  return (await askText(context, 'Address of the server', preset, check))?.trim()
}

/** Points the profile in use to a server. Nothing is stored before the server has accepted the key. */
async function initRemote(given: Context, baseUrl: string): Promise<number> {
  const context = given.withGlobals({ baseUrl })
  const target = targetIn(context)
  if (target.kind !== 'remote') throw new Error('a base url leads to a server')
  const key = await readNewKey(context, target)
  const { credits, member } = await tryKey(context, key)
  storeKey(context.home, keyNameOf(target), key, context.clock.now(), context.ids.uuid(), member)
  const profile = currentProfile(context).name
  await changeProfile(context, profile, { base_url: target.baseUrl, target: 'remote' })
  await print(context, { profile, base_url: target.baseUrl, credits: credits ?? null })
  context.notify('Every command now uses this server. Add --local to use the engine of this machine.')
  return exitCodes.ok
}
