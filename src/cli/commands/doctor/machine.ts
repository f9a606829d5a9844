import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isOk } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import type { OperationId } from '../../../api/operations/table.js'
import { isObject, resultOr } from '../../../api/values/objects.js'
import { addressOf } from '../../../client/connection.js'
import { deliveriesPort } from '../../call/receive.js'
import type { Context, Settings } from '../../context/context.js'
import { reportOfReply, withoutStop } from '../../context/errors.js'
import { checkFile, checkFolder, foldersOf, quoteForShell, statsOf } from '../../context/home.js'
import { numberAt, stringAt, valueAt } from '../../output/records.js'
import { countOf, formatNumber } from '../../output/text.js'
import { describeSource } from '../../target/local-target.js'
import { baseUrlOf, type RemoteTarget, targetIn } from '../../target/resolve-target.js'
import { builtIn, keyNames, profileKeys } from '../setup/profiles.js'
import {
  chosenTarget,
  type Doctor,
  type Findings,
  type Found,
  formatSize,
  isFile,
  ok,
  orElse,
  problem,
  problemOf,
  reasonOf,
  refusedBy,
  type Verdict,
  warning,
} from './context.js'
import { sessionTroubles, toleratedMs } from './engine.js'

/** The program does not start on a Node that is too old. */
export const nodeVersion = (): Findings => ok(`Node ${process.versions.node} is new enough.`)

/** Checks that SQLite loads, in a version that several processes can write with safely. */
export async function sqliteVersion(): Promise<Findings> {
  try {
    // Loaded here, so that the other checks run without it.
    const { sqliteVersion: read } = await import('../../../storage/database/database-file.js')
    const { checkVersion } = await import('../../../storage/driver/sqlite/driver.js')
    const version = read()
    checkVersion(version)
    return ok(`SQLite ${version} is new enough.`)
  } catch (error) {
    const hint = 'Install the packages again: npm rebuild better-sqlite3'
    return problem(`SQLite cannot be used: ${reasonOf(error)}.`, hint)
  }
}

/** Variables whose value may be printed. */
const plain: readonly string[] = ['PROSPECT_HOME', 'PROSPECT_PROFILE', 'PROSPECT_BASE_URL', 'PROSPECT_DEBUG']
/** Variables that hold a secret; their value is not printed. */
const secret: readonly string[] = ['PROSPECT_API_KEY', 'PROSPECT_WEBHOOK_SECRET', 'PROSPECT_DATABASE_URL']
const proxies: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']
const others: readonly string[] = [
  'NO_PROXY',
  'NO_COLOR',
  'CI',
  'NODE_EXTRA_CA_CERTS',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'no_proxy',
]

export function environment({ streams: { env } }: Context): Findings {
  const known = [...plain, ...secret]
  const told = [...known, ...proxies, ...others]
    .filter((name) => env[name])
    .map((name) => described(name, env))
  const unknown = Object.keys(env).filter(
    (name) => env[name] && name.startsWith('PROSPECT_') && !known.includes(name),
  )
  const some = unknown.length === 1 ? 'A variable is' : 'Variables are'
  return [
    ok(told.length === 0 ? 'No environment variable changes what commands do.' : `Set: ${told.join(', ')}.`),
    unknown.length > 0 && warning(`${some} not known: ${unknown.join(', ')}.`, `Known: ${known.join(', ')}.`),
    ...proxies
      .filter((name) => env[name] && !addressOf(env[name]))
      .map((name) => warning(`${name} is not the address of a proxy.`, 'Such as http://proxy.example:3128')),
    env.NODE_TLS_REJECT_UNAUTHORIZED === '0' &&
      warning(
        'NODE_TLS_REJECT_UNAUTHORIZED is 0: prospect checks certificates anyway.',
        'Unset it; NODE_EXTRA_CA_CERTS=FILE adds an authority of your own.',
      ),
  ]
}

/** An address is told without user, password and query, which may hold secrets. */
function described(name: string, env: Context['streams']['env']): string {
  const value = env[name] ?? ''
  if (!proxies.includes(name) && name !== 'PROSPECT_BASE_URL')
    return plain.includes(name) ? `${name} (${value})` : name
  const url = addressOf(value)
  return `${name} (${url ? `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}` : 'not an address'})`
}

export function folders({ home }: Context, { disk }: Doctor): Findings {
  const all = foldersOf(home)
  const there = all.filter(statsOf)
  const troubles = there.map(
    (folder) =>
      refusedBy(() => checkFolder(folder)) ??
      (!disk.isWritable(folder) &&
        problem(`${folder} cannot be written to.`, `chmod 700 ${quoteForShell(folder)}`)),
  )
  const fine = there.length === 0 ? 'is created by the first command' : 'is private'
  return orElse(troubles, `${all.join(', ')} ${fine}.`)
}

export function privateFiles({ home }: Context): Findings {
  const { config, credentials, engine, catalogue, state } = home
  const main = [config, credentials, engine, catalogue, state].filter(isFile)
  const beside = main.slice(2).flatMap((file) => [`${file}-wal`, `${file}-shm`])
  const below = ['runs', 'locks'].flatMap((name) => filesIn(join(dirname(state), name)))
  const others = [...beside, ...below]
  const count = [...main, ...others].filter((file) => statsOf(file)).length
  const troubles = [
    ...main.map((file) => refusedBy(() => checkFile(file))),
    ...others.map((file) => {
      const refused = refusedBy(() => checkFile(file))
      return refused && warning(refused.text, refused.hint)
    }),
  ]
  const some = count === 1 ? '1 file is' : `${count} files are`
  return orElse(troubles, count === 0 ? 'There are no files yet.' : `${some} readable by you only.`)
}

const filesIn = (folder: string): readonly string[] =>
  resultOr([], () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort(),
  )

const mebibyte = 1_048_576
/** The WAL alone grows to 16 MiB before its checkpoint. */
const tooLittle = 64 * mebibyte
const little = 1_024 * mebibyte

export function freeSpace(context: Context, { disk }: Doctor): Findings {
  const spaces = databaseFolders(context).map((folder) => ({ folder, free: disk.space(folder).free }))
  const troubles = spaces
    .filter(({ free }) => free < little)
    .map(({ folder, free }) =>
      (free < tooLittle ? problem : warning)(
        `Only ${formatSize(free)} are free where ${folder} is.`,
        'Free some space, or set PROSPECT_HOME to a larger disk.',
      ),
    )
  return orElse(troubles, `${formatSize(Math.min(...spaces.map(({ free }) => free)))} are free.`)
}

/** Network file systems, by their `statfs` type on Linux. */
const overNetwork: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x0bd00bd0, 'Lustre'],
])
/** A FUSE file system may be local or remote; its type does not tell. */
const fuse = 0x65735546

/** Checks that the databases are on a local disk. File locks are unreliable over a network. */
export function fileSystem(context: Context, { disk }: Doctor): Findings {
  if (process.platform !== 'linux') return undefined
  const troubles = databaseFolders(context).map((folder) => {
    const { type } = disk.space(folder)
    const name = overNetwork.get(type)
    if (name === undefined && type !== fuse) return undefined
    const text = name
      ? `${folder} is on a network file system (${name}), where databases can be damaged.`
      : `${folder} is on a FUSE file system, which may be one over a network.`
    return warning(text, 'Set PROSPECT_HOME to a folder on a disk of this machine.')
  })
  return orElse(troubles, 'The databases are on a disk of this machine.')
}

const databaseFolders = ({ home }: Context): string[] => [
  ...new Set([home.engine, home.catalogue, home.state].filter(isFile).map(nearestFolder)),
]

function nearestFolder(path: string): string {
  const above = dirname(path)
  return above === path || statsOf(above) ? above : nearestFolder(above)
}

/** Checks that this program understands `config.json`. */
export function settingsFile(context: Context): Findings {
  const { config } = context.home
  if (!statsOf(config)) return ok('There is no config.json: every setting has its default.')
  const {
    profile: used,
    profiles = {},
    ...unknown
  } = context.settings() as Settings & Record<string, unknown>
  if (!isObject(profiles)) return problem(`"profiles" in ${config} is not an object.`, `Correct ${config}`)
  const names = Object.keys(profiles)
  const troubles = [
    unknownKeys(Object.keys(unknown), ''),
    ...names.flatMap((name) => profileTroubles(name, profiles[name])),
    used !== undefined &&
      ![...builtIn, ...names].includes(used) &&
      problem(`The profile in use, ${used}, does not exist.`, 'prospect profiles use default'),
  ]
  return orElse(troubles, `config.json is in order: ${countOf(names.length, 'profile')} of your own.`)
}

function profileTroubles(name: string, profile: unknown): Findings {
  if (!isObject(profile))
    return problem(`The profile ${name} is not an object.`, `prospect profiles remove ${name}`)
  const isKnown = (key: string): key is keyof typeof profileKeys => Object.hasOwn(profileKeys, key)
  const keys = Object.keys(profile)
  const unknown = keys.filter((key) => !isKnown(key))
  return [
    unknownKeys(unknown, ` in the profile ${name}`),
    ...keys.filter(isKnown).map((key) => valueTrouble(name, key, profile[key])),
  ]
}

function unknownKeys(keys: readonly string[], where: string): Found {
  const some = keys.length === 1 ? 'A setting is' : 'Settings are'
  const text = `${some} not known${where}: ${keys.join(', ')}.`
  return keys.length > 0 && warning(text, `Settings of a profile: ${keyNames}.`)
}

function valueTrouble(name: string, key: keyof typeof profileKeys, value: unknown): Found {
  const { parse, description } = profileKeys[key]
  const hint = `It takes ${description}: prospect config set ${key} default --profile ${name} resets it.`
  try {
    const isValid = parse(String(value)) !== undefined
    return !isValid && problem(`${key} of the profile ${name} has an invalid value.`, hint)
  } catch (error) {
    // An address may hold a password, so the error leaves the value out.
    return problem(`${key} of the profile ${name} cannot be used: ${reasonOf(error)}.`, hint)
  }
}

export function target(context: Context): Findings {
  // What is wrong with the settings has a check of its own.
  if (!resultOr(undefined, context.settings)) return undefined
  const found = targetIn(context)
  if (found.kind === 'local') return ok('Requests go to the engine of this machine.')
  const how = found.direct ? ', directly' : ''
  // What `--insecure-http` permits.
  const plain = refusedBy(() => baseUrlOf(found.baseUrl, 'The base url'))
  return [
    ok(`Requests go to ${found.baseUrl}${how}.`),
    plain && warning(plain.text, 'Use its https address.'),
  ]
}

function remoteTarget(context: Context): RemoteTarget | undefined {
  const found = chosenTarget(context)
  return found?.kind === 'remote' ? found : undefined
}

/** Checks that the server can be reached, what it reports about itself, and that it accepts the key. */
export async function server(context: Context): Promise<Findings> {
  const target = remoteTarget(context)
  if (!target) return undefined
  const { origin, baseUrl } = target
  const at = new URL(`${baseUrl.replace(/\/api\/v2\/?$/, '')}/health`)
  const answer = await fetchOnce(context, at).catch((error: unknown) =>
    problem(
      `${origin} cannot be reached: ${reasonOf(error)}.`,
      'Check the address, the network and the proxy settings; --local asks the engine of this machine.',
    ),
  )
  if ('hint' in answer) return answer
  return [
    healthVerdict(target, answer),
    clockTrouble(context, answer),
    ...(await key(context, target).catch((error) => [problemOf(error)])),
  ]
}

/** An HTTP response, with header names in lower case. */
interface ServerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

const timeoutMs = 5_000

/** Requests an address once, without a key. */
async function fetchOnce({ streams, clock, onClose }: Context, base: URL): Promise<ServerAnswer> {
  const { createConnection, proxyOf } = await import('../../../client/connection.js')
  const connection = createConnection({
    base,
    proxy: proxyOf(base, streams.env),
    ca: undefined,
    connectMs: timeoutMs,
    answerMs: timeoutMs,
    bodyBytes: 65_536,
    connections: 1,
    now: () => clock.now(),
  })
  onClose(() => connection.close())
  const { status, headers, body } = await connection.exchange(
    { method: 'GET', path: base.pathname },
    { accept: 'application/json' },
    AbortSignal.timeout(timeoutMs),
  )
  return { status, headers, text: Buffer.from(body).toString() }
}

function healthVerdict({ origin, idempotency }: RemoteTarget, { status, text }: ServerAnswer): Verdict {
  if (status >= 500) return warning(`${origin} answers, but reports an error (${status}).`, 'Try later.')
  if (status >= 300 && status < 400)
    return warning(
      `${origin} answers with a redirect, which is not followed.`,
      'Use the address it leads to.',
    )
  const supportsKeys = resultOr(false, () => typeof valueAt(JSON.parse(text), 'idempotency') === 'string')
  if (idempotency !== undefined || supportsKeys) return ok(`${origin} is reached.`)
  return ok(
    `${origin} answers. Whether it supports idempotency keys is unknown, so a call whose answer is lost is not repeated.`,
    'If it does: prospect config set idempotency Idempotency-Key',
  )
}

function clockTrouble({ clock }: Context, { headers }: ServerAnswer): Found {
  const offMs = Math.abs(Date.parse(String(headers.date)) - clock.now())
  const text = `The clocks of this machine and of the server differ by ${formatNumber(Math.round(offMs / 60_000))} minutes.`
  return (
    offMs > toleratedMs &&
    warning(text, 'Set the time of this machine: signed deliveries are refused beyond 5 minutes.')
  )
}

async function key(context: Context, target: RemoteTarget): Promise<readonly Found[]> {
  // Direct, so that the check leaves no trace in the state of this machine.
  const direct = context.withGlobals({ direct: true })
  const apiKey = await direct.apiKey()
  const caller = await direct.caller()
  const ask = (id: OperationId) => caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(timeoutMs) })
  const credits = await ask('credits.show')
  if (!isOk(credits)) {
    const { error, hint } = reportOfReply(credits)
    return [problem(`GET /credits is refused with ${credits.status}: ${withoutStop(error)}.`, hint)]
  }
  const balance = numberAt(credits.body, 'credits.enrichment')
  const left = balance !== undefined ? `; ${formatNumber(balance)} credits are left` : ''
  const { body } = await ask('account.show')
  const { text } = describeSource({ server: target, member: stringAt(body, 'account.email') })
  const isValid = (name: string) => valueAt(body, `integrations.${name}_session_valid`) !== false
  const hint = () => 'Renew it where the server is managed.'
  return [
    ok(`The server accepts the key${left}. Answers come from ${text}.`),
    ...sessionTroubles(isValid('network'), isValid('premium'), hint),
  ]
}

export async function webhooks(context: Context): Promise<Findings> {
  const target = remoteTarget(context)
  if (!target) return undefined
  const { publicUrl } = target
  if (publicUrl === undefined) return ok('No public_url is set: commands poll the server for their results.')
  const { origin } = new URL(publicUrl)
  try {
    return await tryPublicUrl(context, publicUrl, origin)
  } catch (error) {
    if (error instanceof Refusal)
      return ok(`Port 4011 is in use, as by prospect listen: where ${origin} leads was not tried.`)
    const hint = 'Start the tunnel, or correct it: prospect config set public_url URL'
    return warning(`${origin}, the address for webhooks, cannot be reached: ${reasonOf(error)}.`, hint)
  }
}

/** Listens on the port for deliveries, and asks the public URL for an address that only this process knows. */
async function tryPublicUrl(context: Context, url: string, origin: string): Promise<Verdict> {
  const { listen } = await import('../../../http/listen.js')
  const { host, pathname } = new URL(url)
  const path = `${pathname.replace(/\/+$/, '')}/${context.ids.uuid()}`
  let came = false
  const handler = async (request: Request) => {
    came ||= path.endsWith(new URL(request.url).pathname)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  const listening = await listen({ handler, host: '127.0.0.1', port: deliveriesPort, allowHosts: [host] })
  const { status } = await fetchOnce(context, new URL(path, origin)).finally(() => listening.close())
  if (came) return ok(`${origin} leads to this machine, to the port for deliveries.`)
  return warning(
    `${origin} answers ${status}, and does not lead to port 4011 of this machine.`,
    'Point the tunnel at port 4011; for another port, give commands --receive-port.',
  )
}
