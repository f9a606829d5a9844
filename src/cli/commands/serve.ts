import type { Command } from 'commander'
import { isLoopback } from '../../http/hosts.js'
import type { Listening } from '../../http/listen.js'
import type { GlobalOptions } from '../context.js'
import { repeated } from '../flags.js'
import { aborted, interruptible } from '../interrupts.js'
import { write } from '../io.js'
import type { Invocation, Shell } from '../shell.js'
import { deliveringOptions, targetsOf } from './delivery-targets.js'
import { guide } from './guide.js'
import { type Place, placed, startListening } from './listening.js'
import { otherWorld } from './other-world.js'
import { served } from './served.js'

const usualPort = 4010

/** `prospect serve`: the API over HTTP and what it accepts, until a signal ends it. */
export function serveCommand(shell: Shell): Command {
  const summary = 'Serve the API over HTTP under /api/v2, with /health and /openapi.json'
  const command = placed(shell.command('serve', summary), usualPort).option(
    '--allow-host <name>',
    'another name clients may call it by; repeat it for more',
    repeated,
  )
  for (const option of deliveringOptions()) command.addOption(option)
  command.option('--no-worker', 'accept work, and leave it to prospect worker')
  guide(
    command,
    ['serve', 'serve --port 0 --json', 'serve --host 0.0.0.0 --public --allow-host api.example.com'],
    'The first line on stdout is the base url (with --json, an object with base_url and pid).\n' +
      'Requests carry a key in X-API-KEY; make one with: prospect engine keys create --member me@localhost\n' +
      'Imports and waterfalls are done here too, and delivered: to public addresses, to this machine while it\n' +
      'listens on loopback and the workspace has one member, and to what --allow-target names.\n' +
      'SIGTERM or Ctrl-C lets it finish what is in flight and ends it with exit code 0.',
  )
  return shell.action(command, (invocation) => serve(shell, invocation))
}

interface Choices extends Place {
  readonly allowHost?: readonly string[]
  readonly allowTarget?: readonly string[]
  readonly database?: string
  readonly worker: boolean
}

async function serve(shell: Shell, { options, globals }: Invocation): Promise<number> {
  const { streams } = shell.context
  const { allowHost = [], allowTarget, database, worker: works, ...place } = options as unknown as Choices
  const targets = targetsOf(allowTarget, isLoopback(place.host ?? '127.0.0.1'))
  const context = otherWorld(shell.context, database, targets)
  await context.admin(globals)
  // A server that the profile names is not what is served.
  const caller = await context.caller({ ...globals, local: true })
  const worker = works ? await context.worker() : undefined
  let listening: Listening | undefined
  const handler = await served(context, caller, globals, () => listening?.baseUrl ?? '/api/v2')
  await interruptible(streams, async (signal) => {
    listening = await startListening(handler, place, usualPort, allowHost)
    worker?.start()
    try {
      await write(streams.stdout, `${firstLine(listening.baseUrl, globals)}\n`)
      context.notify('Serving the local engine. Ctrl-C ends it.', globals)
      await aborted(signal)
    } finally {
      await listening.close()
      await worker?.stop()
    }
  })
  return 0
}

const firstLine = (baseUrl: string, { json, format }: GlobalOptions): string =>
  json || format === 'json' ? JSON.stringify({ base_url: baseUrl, pid: process.pid }) : baseUrl
