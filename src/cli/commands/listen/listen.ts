import type { Command } from 'commander'
import type { Forwarder } from '../../../http/forwarder.js'
import { newToken, receiver } from '../../../http/receiver.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, Context, GlobalOptions, StreamsContext } from '../../context/context.js'
import { aborted, interruptible } from '../../context/interrupts.js'
import { openEvents } from '../../context/open-events.js'
import { givenToken, type PublicAddress, publicAddress, webhookUrl } from '../../options/public-address.js'
import { targetUrl } from '../../options/target-url.js'
import { type SecretChoice, secretOptions } from '../../options/webhook-secrets.js'
import { guide } from '../../shell/guide.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { type Place, placed, startListening } from '../serve/listening.js'
import { forwarding } from './forwarding.js'
import { type Lines, openLines } from './lines.js'
import { type Trust, trustOf } from './trust.js'

const usualPort = 4011

/** `prospect listen`: receives webhook deliveries on this machine, until a signal ends it. */
export function listenCommand(shell: Shell): Command {
  const command = placed(
    shell.command('listen', 'Receive webhook deliveries on this machine, keep them and print them'),
    usualPort,
  )
    .option('--public-url <url>', 'where the world reaches it: the address of a tunnel or a proxy')
    .option('--path <token>', 'use this path (default: one of its own, the same at every start)')
    .option('--forward-to <url>', 'also send each event on to this address')
  for (const option of secretOptions()) command.addOption(option)
  guide(
    command,
    [
      'listen',
      'listen --secret-file webhook.secret --forward-to http://localhost:3000/hooks',
      'listen --public-url https://my-tunnel.example --json',
    ],
    'The first line on stdout is the address to give as --webhook-url, the second the secret that signs what the\n' +
      'workspace of this machine delivers (with --json, an object with url and secret).\n' +
      'An event is kept before its sender is told so, and only once; look again with: prospect events list\n' +
      'With a secret of your own (also in PROSPECT_WEBHOOK_SECRET), what is not signed with it is refused, and it is\n' +
      'not shown.\n' +
      'SIGTERM or Ctrl-C ends it with exit code 0.',
  )
  return shell.action(command, (invocation) => listenHere(shell.context, invocation))
}

interface Choices extends Place, SecretChoice {
  readonly publicUrl?: string
  readonly path?: string
  readonly forwardTo?: string
}

/** What a receiver works with, once its options are understood. */
interface Setup {
  readonly place: Place
  readonly token: string
  readonly trust: Trust
  readonly known: PublicAddress | undefined
  readonly forwardTo: string | undefined
  readonly events: Events
}

async function listenHere(context: Context, { options, globals }: Invocation): Promise<number> {
  await interruptible(context.streams, async (signal) => {
    const over = new AbortController()
    const end = () => over.abort()
    signal.addEventListener('abort', end)
    const lines = openLines(context, globals, end)
    const setup = await prepare(context, options as Choices, globals)
    const sending =
      setup.forwardTo === undefined ? undefined : forwarding(context, setup.events, setup.forwardTo, globals)
    const sent = sending?.run(over.signal)
    try {
      if (!signal.aborted) await serve(context, setup, lines, sending, globals, over.signal)
    } finally {
      end()
      await sent
    }
    await lines.written()
  })
  return 0
}

async function prepare(context: Context, choices: Choices, globals: GlobalOptions): Promise<Setup> {
  const known = publicAddress(choices.publicUrl)
  const token = givenToken(choices.path)
  const forwardTo = choices.forwardTo === undefined ? undefined : targetUrl(choices.forwardTo, '--forward-to')
  const trust = await trustOf(context, choices, globals)
  const events = await openEvents(context)
  const own = token ?? (await events.token(newToken(context.ids.bytes(16))))
  return { place: choices, token: own, trust, known, forwardTo, events }
}

async function serve(
  context: StreamsContext & ClockContext,
  { place, token, trust, known, forwardTo, events }: Setup,
  lines: Lines,
  sending: Forwarder | undefined,
  globals: GlobalOptions,
  over: AbortSignal,
): Promise<void> {
  const handler = receiver({
    inbox: { keep: (delivery) => events.keep(delivery, forwardTo) },
    token,
    ...(known ? { prefix: known.prefix } : {}),
    secrets: trust.secrets,
    ...(trust.known ? { known: trust.known } : {}),
    clock: context.clock,
    received: (delivery) => {
      lines.event(delivery)
      sending?.wake()
    },
    report: (error) => context.notify(`An event could not be kept: ${(error as Error).message}.`, globals),
  })
  const listening = await startListening(handler, place, usualPort, known ? [known.host] : [])
  try {
    const url = webhookUrl(listening, token, known)
    const { secrets, secret, from } = trust
    const opening = { url, verifying: secrets.length > 0, secret, secret_from: from }
    await lines.open({ listening: listening.origin, ...opening })
    context.notify(`Listening on ${listening.origin}. ${trust.words} Ctrl-C ends it.`, globals)
    await aborted(over)
  } finally {
    await listening.close()
  }
}
