import { Refusal } from '../../../api/calls/errors.js'
import { escapeControls } from '../../../api/values/json.js'
import { providerKeyName, webhookSecretName } from '../../../api/values/key-names.js'
import { aborted, type Fields } from '../../../api/values/objects.js'
import type { Forward, Passed, ReceivedDelivery } from '../../../api/webhooks/events.js'
import { type Forwarder, passOn, startForwarder } from '../../../http/forwarder.js'
import { newToken, receiver, vendorReceiver } from '../../../http/receiver.js'
import { writeTo } from '../../../runs/output/writer.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import { deliveriesPort } from '../../call/receive.js'
import type { Context, StreamsContext } from '../../context/context.js'
import { storedKey } from '../../context/credentials.js'
import { interruptible } from '../../context/io.js'
import { openEngineStore, openEvents } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/values.js'
import {
  givenSecrets,
  givenToken,
  type PublicAddress,
  publicAddress,
  refusedSecret,
  type SecretChoice,
  secretOptions,
  secretSource,
  targetUrl,
  webhookUrl,
} from '../../options/webhooks.js'
import { fileOf, formatOf } from '../../output/output.js'
import { oneLine } from '../../output/text.js'
import { listenOptions, startListening } from '../serve/http-server.js'

export const listenCommand: CommandFactory = ({ command }) =>
  command('listen', 'Receive webhook deliveries on this machine, store them and print them')
    .withOptions(ownOptions)
    .addOption(refusedSecret())
    .run(async (context, { options }) => {
      await interruptible(context.streams, async (signal) => {
        const over = new AbortController()
        const end = () => over.abort()
        signal.addEventListener('abort', end)
        const lines = openLines(context, end)
        const setup = await prepare(context, options)
        const { events, forwardTo } = setup
        const sending = forwardTo ? startForwarding(context, events, forwardTo, over.signal) : undefined
        try {
          if (!signal.aborted) await serve(context, setup, lines, sending, over.signal)
        } finally {
          end()
          await sending?.ended
        }
        await lines.written()
      })
    })

const ownOptions = optionRows({
  ...listenOptions(deliveriesPort),
  publicUrl: ['<url>', 'its public address, such as that of a tunnel or proxy'],
  path: ['<token>', 'use this path (default: a random one, the same at every start)'],
  forwardTo: ['<url>', 'also forward each event to this address'],
  ...secretOptions,
})

type ListenChoices = OptionsOf<typeof ownOptions>

async function prepare(context: Context, choices: ListenChoices) {
  const known = publicAddress(choices.publicUrl)
  const token = givenToken(choices.path)
  const forwardTo = choices.forwardTo === undefined ? undefined : targetUrl(choices.forwardTo, '--forward-to')
  const trust = await readTrust(context, choices)
  const events = await openEvents(context, trust.secrets)
  const own = token ?? (await events.token(newToken(context.ids.bytes(16))))
  return { place: choices, token: own, trust, known, forwardTo, events }
}

async function serve(
  context: Context,
  { place, token, trust, known, forwardTo, events }: Awaited<ReturnType<typeof prepare>>,
  lines: ReturnType<typeof openLines>,
  sending: Forwarder | undefined,
  over: AbortSignal,
): Promise<void> {
  const report = (error: unknown) =>
    context.notify(`An event could not be stored: ${(error as Error).message}.`)
  const own = receiver({
    inbox: {
      keep: async (delivery) => {
        const kept = await events.clean(delivery)
        const isNew = await events.keep(kept, forwardTo)
        if (isNew) {
          lines.event(kept)
          sending?.wake()
        }
        return isNew
      },
    },
    token,
    ...(known ? { prefix: known.prefix } : {}),
    secrets: trust.secrets,
    ...(trust.known ? { known: trust.known } : {}),
    clock: context.clock,
    report,
  })
  const vendors = known && (await receiveVendors(context, known, report))
  const handler = (request: Request) => vendors?.take(request) ?? own(request)
  const allowHosts = known ? [known.host] : []
  const setup = { handler, allowHosts, defaultPort: deliveriesPort }
  const listening = await startListening(context, place, setup)
  try {
    const url = webhookUrl(listening.origin, token, known)
    const { secret, from: secret_from } = trust
    const verifying = trust.secrets.length > 0
    await vendors?.announce()
    await lines.open({ listening: listening.origin, url, verifying, secret, secret_from })
    context.notify(`Listening on ${listening.origin}. ${trust.words} Ctrl-C ends it.`)
    await aborted(over)
  } finally {
    await vendors?.end()
    await listening.close()
  }
}

/** Receives what the data vendors of this machine's workspaces send to its public address; `undefined` without a workspace. */
async function receiveVendors(context: Context, known: PublicAddress, report: (error: unknown) => void) {
  if (!context.isLocal() || !(await context.isSetUp())) return undefined
  const { store } = await openEngineStore(context)
  const { announceListener, takeDelivery, vendorPath } = await import('../../../providers/webhook.js')
  const secretOf = (workspaceId: string, name: string) => {
    const keyName = providerKeyName(workspaceId, name)
    return storedKey(context.home, webhookSecretName(keyName)) ?? storedKey(context.home, keyName)
  }
  const ports = { store, clock: context.clock, secretOf, sleep: context.sleep }
  let announced: Awaited<ReturnType<typeof announceListener>> | undefined
  return {
    take: vendorReceiver({
      path: vendorPath,
      prefix: known.prefix,
      take: (delivery) => takeDelivery(ports, delivery),
      report,
    }),
    announce: async () => {
      announced = await announceListener(ports, known.origin + known.prefix, context.ids.uuid())
    },
    end: async () => announced?.end(),
  }
}

const startForwarding = ({ clock, notify }: Context, events: Events, target: string, over: AbortSignal) =>
  startForwarder(
    {
      outbox: events.outbox(target),
      pass: (delivery, signal) => passOn(target, delivery, signal),
      clock,
      passed: (forward, passed, isLast) => {
        if (!passed.ok) notify(formatFailure(forward, passed, isLast))
      },
      report: (error) => notify(`Forwarding is paused: ${(error as Error).message}.`),
    },
    over,
  )

function formatFailure({ delivery, attempts }: Forward, { answer }: Passed, isLast: boolean): string {
  const id = delivery.headers['webhook-id'] ?? 'An event'
  const next = isLast ? 'given up. Send it again with: prospect events replay' : 'it will be tried again'
  return `${id} was not forwarded (attempt ${attempts + 1}: ${answer}): ${next}.`
}

/**
 * Reads the given secrets; deliveries signed with none of them are refused. Without any, those of this machine's workspace are
 * known where it is the target; what is signed with none of these is kept, unverified. `secret` is what is printed.
 */
async function readTrust(context: Context, choice: SecretChoice) {
  const secrets = await givenSecrets(context.streams, choice)
  const from = secretSource(context.streams, choice) ?? null
  if (secrets.length > 0)
    return { secrets, secret: null, from, words: `Signatures are verified with the secret of ${from}.` }
  if (!context.isLocal())
    return { secrets, secret: null, from, words: 'Signatures are not verified: no secret is known.' }
  let last: readonly string[] = []
  const known = async () => {
    // A rotation counts at once, and a workspace from its beginning; a store that is busy is no reason to lose a delivery.
    const read = async () =>
      (await context.isSetUp()) ? (await context.admin()).webhookSecrets() : Promise.resolve([])
    last = await read().catch(() => last)
    return last
  }
  if (!(await context.isSetUp())) {
    const words = 'Signatures are not verified: this machine has no workspace yet (prospect init).'
    return { secrets, known, secret: null, from, words }
  }
  const secret = await (await context.admin()).webhookSecret(false)
  last = [secret]
  const words =
    'Deliveries signed by your workspace are verified with this secret. Others are accepted unverified.'
  return { secrets, known, secret, from: 'workspace', words }
}

/** Prints text on a terminal and JSON elsewhere. `failed` is called when the reader of stdout has gone. */
function openLines(context: StreamsContext, failed: () => void) {
  const { stdout } = context.streams
  const format = formatOf(context)
  if (!['table', 'json', 'ndjson'].includes(format) || fileOf(context.globals) !== undefined)
    throw new Refusal('usage.listen_format')
  const isObjects = format !== 'table'
  let last = Promise.resolve()
  const line = (text: string) => {
    last = last.then(() => writeTo(stdout, `${escapeControls(text)}\n`))
    last.catch(failed)
  }
  return {
    /** `secret` is null where it is not to be printed. */
    open: (opening: Fields & { readonly url: string; readonly secret: string | null }): Promise<void> => {
      const { url, secret } = opening
      const label = (text: string) => (stdout.isTTY ? text.padEnd(16) : '')
      line(isObjects ? JSON.stringify(opening) : label('Webhook URL') + url)
      if (!isObjects && secret !== null) line(label('Signing secret') + secret)
      return last
    },
    event: (delivery: ReceivedDelivery) =>
      line(isObjects ? formatEventJson(delivery) : formatEvent(delivery)),
    /** Resolves when all is written; rejects when the reader of stdout has gone. */
    written: () => last,
  }
}

/** The body is valid JSON, so that tabs and line ends in it lie between its values. */
function formatEventJson({ id, receivedAt, event, search, verified, body }: ReceivedDelivery): string {
  const fields = { id, received_at: new Date(receivedAt).toISOString(), event, search_id: search, verified }
  return `${JSON.stringify(fields).slice(0, -1)},"body":${body.replace(/^\ufeff/, '').replace(/[\t\r\n]+/g, ' ')}}`
}

function formatEvent({ id, receivedAt, event, search, verified }: ReceivedDelivery): string {
  const trust = verified ? 'verified' : 'not verified'
  return oneLine([new Date(receivedAt).toISOString(), event, search ?? '-', trust, id].join('  '))
}
