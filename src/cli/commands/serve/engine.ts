import { compose } from '../../../api/calls/compose.js'
import { isLoopback } from '../../../http/hosts.js'
import { named } from '../../../http/wire-names.js'
import { isShared } from '../../../storage/database/open.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { targetsOf } from '../../options/webhooks.js'
import { namesOf } from '../../target/resolve-target.js'
import type { Behind, ServeChoices } from './app.js'
import { createApp } from './app.js'

/** The engine of this machine behind a server, with the worker that does what it accepts. */
export async function engineBehind(
  outer: Context,
  choices: ServeChoices,
  globals: GlobalOptions,
  baseUrl: () => string,
): Promise<Behind> {
  const { allowTarget, database, host = '127.0.0.1', worker: works } = choices
  // The words of a server in the profile are that server's.
  const names = namesOf(globals, {})
  const context = outer.withDatabase(database ?? outer.home.engine, {
    targets: targetsOf(allowTarget, isLoopback(host)),
    names,
  })
  const admin = await context.admin(globals)
  // A server that the profile names is not what is createApp.
  const engine = await context.caller({ ...globals, local: true })
  const caller = compose([names && named(names)], engine)
  const worker = works ? await context.worker() : undefined
  // On a server it may be out of reach, or not ours: better told now than at each lookup.
  if (isShared(context.home)) await context.catalogue()
  return {
    handler: await createApp(context, caller, globals, { baseUrl, words: names, ready: () => admin.clock() }),
    hosts: [],
    text: 'Serving the local engine. Ctrl-C ends it.',
    start: () => worker?.start(),
    stop: async () => worker?.stop(),
  }
}
