import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import type { Targets } from '../../api/ports/ports.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import { resultOr } from '../../api/values/objects.js'
import { parseUrl } from '../../api/values/url.js'
import { receiverPath } from '../../api/webhooks/events.js'
import { isSecret } from '../../api/webhooks/signature.js'
import { isNetwork } from '../../client/ssrf-guard.js'
import type { Streams, StreamsContext } from '../context/context.js'
import { checkSecret } from '../context/home.js'
import { readText } from '../context/io.js'
import { fileOf } from '../output/output.js'
import type { Invocation } from './command-environment.js'
import { groups } from './help.js'
import { engineOption, type OptionsOf, optionRows, port, seconds, toOptions } from './values.js'

/** Returns an address for deliveries: http or https, without a user or a fragment. Throws a Refusal for others. */
export function targetUrl(text: string, option: string): string {
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Refusal('usage.address', { option })
  if (url.username !== '' || url.password !== '') throw new Refusal('usage.address_password', { option })
  if (url.hash !== '') throw new Refusal('usage.address_fragment', { option })
  return url.href
}

/** Returns where a server or worker delivers: to the networks given, and to loopback in a workspace of one member. */
export const targetsOf =
  (program: 'server' | 'worker', allow: readonly string[] = [], loopback: boolean) =>
  (members: number): Targets => ({
    allow,
    loopback: loopback && members === 1,
    adviceToAllow: (networks) => `Start the ${program} with ${allowTargets(networks)}.`,
  })

/** Returns where other commands deliver: to loopback in a workspace of one member. */
export const targetsOfCommands = (members: number): Targets => ({
  allow: [],
  loopback: members === 1,
  adviceToAllow: (networks) =>
    `Leave out --webhook-url, or start prospect serve ${allowTargets(networks)} and use its --base-url.`,
})

const allowTargets = (networks: readonly string[]): string =>
  networks.map((network) => `--allow-target ${network}`).join(' ')

export function networks(text: string, before: readonly string[] = []): string[] {
  if (!isNetwork(text)) throw new InvalidArgumentError('Give a network such as 10.1.0.0/16, or an address.')
  return [...before, text.trim()]
}

/** The options of a command that sends deliveries: the database, and private networks it may deliver to. */
export const deliveringOptions = optionRows({
  ...engineOption,
  allowTarget: [
    '<network>',
    'deliver to this private network too, such as 10.1.0.0/16 (repeatable)',
    networks,
  ],
  deliveryShape: [
    '<shape>',
    'how deliveries carry a record: in a field (nested), or with its fields beside those of the event (flat)',
    ['nested', 'flat'],
  ],
})

export type PublicAddress = NonNullable<ReturnType<typeof publicAddress>>

/** `prefix` is the path before the receiver's own path, and can be empty. */
export function publicAddress(text: string | undefined) {
  if (text === undefined) return undefined
  const { origin, host, pathname, search } = new URL(targetUrl(text, '--public-url'))
  if (search !== '') throw new Refusal('usage.public_url_query')
  return { origin, host, prefix: pathname.replace(/\/+$/, '') }
}

/** Reads `--path`: 16 to 128 letters, digits, `-` and `_`, because anyone who guesses it can send events. */
export function givenToken(text: string | undefined): string | undefined {
  if (text === undefined || /^[\w-]{16,128}$/.test(text)) return text
  throw new Refusal('usage.receiver_path')
}

/** Returns where deliveries come: at the public address that is known, else below the origin. */
export const webhookUrl = (origin: string, token: string, known?: PublicAddress): string =>
  (known ? known.origin + known.prefix : origin) + receiverPath(token)

export const secretOptions = optionRows({
  secretFile: ['<file>', 'read the signing secret from a file'],
})

export type SecretChoice = OptionsOf<typeof secretOptions>

/** Creates an option that refuses the signing secret: it is never an argument itself. */
export const refusedSecret = (): Option =>
  new Option('--secret <secret>', 'refused').argParser(refuseSecret).hideHelp()

/** From a file or PROSPECT_WEBHOOK_SECRET. During a rotation there are several, separated by white space. */
export async function givenSecrets(streams: Streams, choice: SecretChoice): Promise<readonly string[]> {
  if (choice.secretFile !== undefined) {
    checkSecret(resolve(streams.cwd, choice.secretFile))
    return secretsIn(await readText(streams, choice.secretFile, '--secret-file'), choice.secretFile)
  }
  const variable = streams.env.PROSPECT_WEBHOOK_SECRET
  return variable ? secretsIn(variable, 'PROSPECT_WEBHOOK_SECRET') : []
}

/** Returns the name of the source of the signing secrets; `undefined` where none are given. */
export function secretSource({ env }: Streams, choice: SecretChoice): string | undefined {
  return choice.secretFile ?? (env.PROSPECT_WEBHOOK_SECRET ? 'PROSPECT_WEBHOOK_SECRET' : undefined)
}

function secretsIn(text: string, source: string): string[] {
  // A command that shows one prints `{"secret": …}` into a pipe.
  const json = resultOr(undefined, () => JSON.parse(text) as { readonly secret?: unknown })
  const given = typeof json?.secret === 'string' ? json.secret : text
  const secrets = given.split(/\s+/).filter((word) => word !== '')
  if (secrets.length === 0 || !secrets.every(isSecret)) throw new Refusal('usage.no_secret', { source })
  return secrets
}

function refuseSecret(): never {
  throw new Refusal('usage.secret_argument')
}

export const waitOptions = (): Option[] =>
  toOptions({
    wait: [
      '[seconds]',
      'wait for the job and print its results (default on a terminal and with -o); exit 14 after this many seconds',
      seconds,
    ],
    publicUrl: [
      '<url>',
      'the address where a server reaches this machine while it waits, such as that of a tunnel',
    ],
    receivePort: ['<n>', 'the port of this machine that --public-url leads to (default: 4011)', port],
    noWait: ['', 'print the reply, and let the server or a worker finish the job'],
  }).map((option) => option.helpGroup(option.long?.endsWith('wait') ? groups.request : groups.everyRequest))

/**
 * Reads these options. Without them a command prints the result where it goes to a terminal or a file, unless the result has
 * another address; in a pipe it prints the reply. `doesWork` is false where a server or worker does the work.
 */
export function waitOf(
  { globals, streams }: StreamsContext,
  { options: { wait } }: Invocation,
  { webhook_url: address }: Input,
) {
  if (wait === false) return { doesWork: false, printsResult: false }
  const isElsewhere = address !== undefined && address !== ownWebhook
  const isShown = streams.stdout.isTTY === true || fileOf(globals) !== undefined
  const printsResult = wait !== undefined || (isShown && !isElsewhere)
  return { doesWork: true, printsResult, ...(typeof wait === 'number' ? { seconds: wait } : {}) }
}
