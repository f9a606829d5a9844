import type { Command } from 'commander'
import type { Listening } from '../../http/listen.js'
import type { Context, GlobalOptions } from '../context.js'
import { createContext } from '../create-context.js'
import { UsageError } from '../exit.js'
import { repeated } from '../flags.js'
import { interruptible } from '../interrupts.js'
import { write } from '../io.js'
import type { Invocation, Shell } from '../shell.js'
import { guide } from './guide.js'
import { aborted, type Place, placed, startListening } from './listening.js'
import { served } from './served.js'

const usualPort = 4010

/** `prospect serve`: the API over HTTP, until a signal ends it. */
export function serveCommand(shell: Shell): Command {
  const summary = 'Serve the API over HTTP under /api/v2, with /health and /openapi.json'
  const command = placed(shell.command('serve', summary), usualPort)
    .option('--allow-host <name>', 'another name clients may call it by; repeat it for more', repeated)
    .option('--database <path>', "the engine's database (default: the one of this machine)", withoutPassword)
  guide(
    command,
    ['serve', 'serve --port 0 --json', 'serve --host 0.0.0.0 --public --allow-host api.example.com'],
    'The first line on stdout is the base url (with --json, an object with base_url and pid).\n' +
      'Requests carry a key in X-API-KEY; make one with: prospect engine keys create --member me@localhost\n' +
      'SIGTERM or Ctrl-C lets it finish what is in flight and ends it with exit code 0.',
  )
  return shell.action(command, (invocation) => serve(shell, invocation))
}

function withoutPassword(location: string): string {
  const isUrl = /^\w+:\/\//.test(location)
  if (isUrl && (/^\w+:\/\/[^/@]*:[^/@]+@/.test(location) || /[?&]password=/i.test(location)))
    throw new UsageError(
      '--database must not hold a password: other users of this machine could see it.',
      'Put the address into PROSPECT_DATABASE_URL, or the password into the file that PGPASSFILE names.',
    )
  return location
}

async function serve(shell: Shell, { options, globals }: Invocation): Promise<number> {
  const { streams } = shell.context
  const context = databaseContext(shell.context, options.database)
  await context.admin(globals)
  const caller = await context.caller(globals)
  const { allowHost: allowHosts = [] } = options as { readonly allowHost?: readonly string[] }
  let listening: Listening | undefined
  const handler = await served(context, caller, globals, () => listening?.baseUrl ?? '/api/v2')
  await interruptible(streams, async (signal) => {
    listening = await startListening(handler, options as Place, usualPort, allowHosts)
    try {
      await write(streams.stdout, `${firstLine(listening.baseUrl, globals)}\n`)
      context.notify('Serving the local engine. Ctrl-C ends it.', globals)
      await aborted(signal)
    } finally {
      await listening.close()
    }
  })
  return 0
}

/** The same world around another database; closed with the command. */
function databaseContext(context: Context, database: unknown): Context {
  if (typeof database !== 'string') return context
  const { streams, clock, ids, sleep } = context
  const env = { ...streams.env, PROSPECT_DATABASE_URL: database }
  const other = createContext({ ...streams, env }, { clock, ids, sleep })
  context.onClose(() => other.close())
  return other
}

const firstLine = (baseUrl: string, { json, format }: GlobalOptions): string =>
  json || format === 'json' ? JSON.stringify({ base_url: baseUrl, pid: process.pid }) : baseUrl
