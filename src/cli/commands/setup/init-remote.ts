import type { Context, GlobalOptions } from '../../context/context.js'
import { storeKey } from '../../context/credentials.js'
import { exits } from '../../context/errors.js'
import { askChoice, askText } from '../../prompt/ask.js'
import type { Shell } from '../../shell/shell.js'
import { baseUrlOf } from '../../target/base-url.js'
import { targetOf } from '../../target/resolve-target.js'
import { enteredKey, tryKey } from './login.js'
import { changeProfile, currentProfile } from './profile-settings.js'

/** The address of the server that a person wants to use; nothing for the local engine, and without a person. */
export async function wantedServer(context: Context, globals: GlobalOptions): Promise<string | undefined> {
  const choices = [
    { value: 'local', name: 'On this machine: offline, with data of your own or samples' },
    { value: 'remote', name: 'On a server that you have an API key for' },
  ] as const
  const place = await askChoice(context, 'Where do your searches and lookups go?', choices, globals)
  if (place !== 'remote') return undefined
  const check = (text: string) => baseUrlOf(text.trim(), 'The address', globals.insecureHttp)
  const preset = 'https://api.example.com/api/v2'
  return (await askText(context, 'Address of the server', globals, preset, check))?.trim()
}

/** Makes the profile in use one of a server, with a key that works; nothing is kept before it is known to. */
export async function initRemote(shell: Shell, baseUrl: string, given: GlobalOptions): Promise<number> {
  const { context } = shell
  const globals = { ...given, baseUrl }
  const target = targetOf(globals, context.streams.env, context.settings())
  if (target.kind !== 'remote') throw new Error('a base url leads to a server')
  const key = await enteredKey(context, target, globals)
  const credits = await tryKey(context, key, globals)
  storeKey(context.home, target.origin, key, context.clock.now(), context.ids.uuid())
  const profile = currentProfile(context, globals).name
  await changeProfile(context, profile, { base_url: target.baseUrl, target: 'remote' })
  await shell.print({ profile, base_url: target.baseUrl, credits: credits ?? null }, given)
  context.notify('Every command now asks this server; --local asks the engine of this machine.', given)
  return exits.ok
}
