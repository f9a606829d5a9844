import type { Command } from 'commander'
import type { Listening } from '../../../http/listen.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { aborted, interruptible } from '../../context/interrupts.js'
import { write } from '../../context/io.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import { guide } from '../../options/command-environment.js'
import { repeated } from '../../options/values.js'
import { deliveringOptions, secretOptions } from '../../options/webhooks.js'
import type { Behind, ServeChoices } from './app.js'
import { addListenOptions, startListening } from './listening.js'

const usualPort = 4010

/** `prospect serve`: the API over HTTP and what it accepts, until a signal ends it. */
export function serveCommand(environment: CommandEnvironment): Command {
  const summary = 'Serve the API over HTTP under /api/v2, with /health and /openapi.json'
  const command = addListenOptions(environment.command('serve', summary), usualPort).option(
    '--allow-host <name>',
    'another name clients may call it by; repeat it for more',
    repeated,
  )
  for (const option of deliveringOptions()) command.addOption(option)
  command
    .option('--no-worker', 'accept work, and leave it to prospect worker')
    .option('--upstream <url>', 'serve this server, which ends in /api/v2, in place of the local engine')
    .option(
      '--public-url <url>',
      'where it reaches this machine: its deliveries come here, and go on from here',
    )
  for (const option of secretOptions()) command.addOption(option)
  guide(
    command,
    [
      'serve',
      'serve --port 0 --json',
      'serve --host 0.0.0.0 --public --allow-host api.example.com',
      'serve --upstream https://api.example.com/api/v2',
    ],
    'The first line on stdout is the base url (with --json, an object with base_url and pid).\n' +
      'Requests carry a key in X-API-KEY; make one with: prospect engine keys create --member me@localhost\n' +
      'Imports and waterfalls are done here too, and delivered: to public addresses, to this machine while it\n' +
      'listens on loopback and the workspace has one member, and to what --allow-target names.\n' +
      'With --upstream, people use keys of this workspace, and the server gets its own one (PROSPECT_API_KEY, --api-key-file or\n' +
      'prospect login) at a pace it takes; with --direct their own keys are passed on.\n' +
      'SIGTERM or Ctrl-C lets it finish what is in flight and ends it with exit code 0.',
  )
  return environment.action(command, (invocation) => serve(environment, invocation))
}

async function serve(environment: CommandEnvironment, { options, globals }: Invocation): Promise<number> {
  const { streams, notify } = environment.context
  const choices = options as unknown as ServeChoices
  const { allowHost = [], ...place } = choices
  let listening: Listening | undefined
  const behind = await behindOf(environment.context, choices, globals, () => listening?.baseUrl ?? '/api/v2')
  await interruptible(streams, async (signal) => {
    listening = await startListening(behind.handler, place, usualPort, [...allowHost, ...behind.hosts])
    behind.start()
    try {
      await write(streams.stdout, `${firstLine(listening.baseUrl, globals)}\n`)
      notify(behind.text, globals)
      await aborted(signal)
    } finally {
      await listening.close()
      await behind.stop()
    }
  })
  return 0
}

/** The engine of this machine, or another server. */
async function behindOf(
  context: Context,
  choices: ServeChoices,
  globals: GlobalOptions,
  baseUrl: () => string,
): Promise<Behind> {
  const { upstream, publicUrl, secretFile, secretStdin } = choices
  if (upstream !== undefined) {
    const { proxyBehind } = await import('./proxy.js')
    return proxyBehind(context, upstream, choices, globals, baseUrl)
  }
  if (globals.direct) throw new UsageError('--direct is about a server behind this one: give --upstream.')
  if (publicUrl !== undefined || secretFile !== undefined || secretStdin)
    throw new UsageError(
      '--public-url and --secret-file are about the deliveries of a server behind this one: give --upstream.',
    )
  const { engineBehind } = await import('./engine.js')
  return engineBehind(context, choices, globals, baseUrl)
}

const firstLine = (baseUrl: string, { json, format }: GlobalOptions): string =>
  json || format === 'json' ? JSON.stringify({ base_url: baseUrl, pid: process.pid }) : baseUrl
