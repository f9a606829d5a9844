import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isOk } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import type { OperationId } from '../../../api/operations/table.js'
import { isObject, resultOr } from '../../../api/values/objects.js'
import { deliveriesPort } from '../../call/receive.js'
import { type Context, version } from '../../context/context.js'
import { reportOfReply, withoutStop } from '../../context/errors.js'
import { checkFile, checkFolder, foldersOf, profileOf, statsOf } from '../../context/home.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { numberAt, stringAt, valueAt } from '../../output/records.js'
import { countOf, formatNumber, type Look, oneLine, wrapText } from '../../output/text.js'
import { widthOf } from '../../output/width.js'
import { describeServer } from '../../target/local-target.js'
import { addressesText, baseUrlsOf, type RemoteTarget, targetIn } from '../../target/resolve-target.js'
import { readSetting } from '../setup/profiles.js'
import {
  type Check,
  chosenTarget,
  createDoctor,
  type Doctor,
  type Findings,
  type Found,
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
import * as engine from './engine.js'

export const doctorCommand: CommandFactory = ({ command }) =>
  command('doctor', 'Check this machine for problems, and say how to fix them; exit 13 if there are any')
    .option('--thorough', 'check databases of more than 1 GiB in full, too')
    .run(async (context, { options }) => {
      const examination = await runChecks(checks, context, createDoctor(context, options.thorough === true))
      await print(context, examination, { layout: doctorView, columns: ['name', 'status', 'text', 'hint'] })
      if (examination.ok) return
      const problems = examination.checks.filter(({ status }) => status === 'problem')
      throw new Refusal('doctor.problems', { names: [...new Set(problems.map(({ name }) => name))] })
    })

export const checks: readonly Check[] = [
  { name: 'program', run: program },
  // The program does not start on a Node that is too old.
  { name: 'node', run: () => ok(`Node ${process.versions.node} is new enough.`) },
  { name: 'sqlite', run: sqliteVersion },
  { name: 'folders', run: folders },
  { name: 'files', run: privateFiles },
  { name: 'file system', run: fileSystem },
  { name: 'settings', run: settingsFile },
  { name: 'target', run: target },
  { name: 'engine database', run: (...of) => engine.database(...of, 'engine') },
  { name: 'catalogue database', run: (...of) => engine.database(...of, 'catalogue') },
  { name: 'state database', run: (...of) => engine.database(...of, 'state') },
  { name: 'clock', run: engine.clock },
  { name: 'workspace', run: engine.workspace },
  { name: 'key', run: engine.localKey },
  { name: 'sessions', run: engine.sessions },
  { name: 'jobs', run: engine.openWork },
  { name: 'catalogue', run: engine.localData },
  { name: 'server', run: server },
  { name: 'webhooks', run: webhooks },
]

/** Runs the checks one after the other. A check that throws is a problem, and the others still run. Warnings leave `ok` true. */
export async function runChecks(checks: readonly Check[], context: Context, doctor: Doctor) {
  const findings: (Verdict & Pick<Check, 'name'>)[] = []
  for (const { name, run } of checks) {
    const found = await (async () => run(context, doctor))().catch(problemOf)
    for (const { status, text, hint } of [found].flat().filter((one) => !!one))
      findings.push({ name, status, text: context.redact(text), hint: hint && context.redact(hint) })
  }
  return { ok: findings.every(({ status }) => status !== 'problem'), checks: findings }
}

function doctorView(body: unknown, look: Look): string {
  const { checks } = body as Examination
  const width = Math.max(0, ...checks.map(({ name }) => widthOf(name)))
  const lines = checks.flatMap((finding) => linesOf(finding, width, look))
  const count = (wanted: string) => checks.filter(({ status }) => status === wanted).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const summary = `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`
  return `${[...lines, '', problems + warnings > 0 ? summary : 'Everything is in order.'].join('\n')}\n`
}

type Examination = Awaited<ReturnType<typeof runChecks>>

function linesOf({ name, status, text, hint }: Examination['checks'][number], width: number, look: Look) {
  const word = status === 'ok' ? look.dim(status) : look.bold(status)
  const margin = 11 + width
  const room = look.isTerminal ? Math.max(20, look.width - margin) : Number.POSITIVE_INFINITY
  const [first, ...rest] = wrapText(oneLine(text), room)
  const hints = hint === null ? [] : wrapText(`${look.isAscii ? '->' : '→'} ${oneLine(hint)}`, room)
  const below = [...rest, ...hints].map((line) => ' '.repeat(margin) + line)
  return [`${word}${' '.repeat(9 - status.length)}${name.padEnd(width)}  ${first}`, ...below]
}

/** Says how to upgrade: no command looks for a newer version by itself. */
async function program({ streams }: Context): Promise<Findings> {
  const installation = streams.installation?.()
  if (!installation) return undefined
  const { how, folder, upgrade } = installation
  return ok(
    `prospect ${await version()} was installed ${how}, in ${folder}.`,
    `To upgrade: ${upgrade.replace(/^Run: /, '')}`,
  )
}

/** Checks that SQLite loads, in a version that several processes can write with safely. */
async function sqliteVersion(): Promise<Findings> {
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

function folders({ home }: Context): Findings {
  const all = foldersOf(home)
  const fine = all.some(statsOf) ? 'is private' : 'is created by the first command'
  const troubles = all.map((folder) => refusedBy(() => checkFolder(folder)))
  return orElse(troubles, `${all.join(', ')} ${fine}.`)
}

function privateFiles({ home }: Context): Findings {
  const { config, credentials, engine, catalogue, state } = home
  const databases = [engine, catalogue, state].filter(isFile)
  const beside = databases.flatMap((file) => [`${file}-wal`, `${file}-shm`])
  const below = ['runs', 'locks'].flatMap((name) => filesIn(join(dirname(state), name)))
  const files = [config, credentials, ...databases, ...beside, ...below]
  const count = files.filter((file) => statsOf(file)).length
  const some = count === 1 ? '1 file is' : `${count} files are`
  const troubles = files.map((file) => refusedBy(() => checkFile(file)))
  return orElse(troubles, count === 0 ? 'There are no files yet.' : `${some} readable by you only.`)
}

const filesIn = (folder: string): readonly string[] =>
  resultOr([], () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort(),
  )

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

/** Checks that the databases are on a local disk. File locks are unreliable over a network. */
function fileSystem({ home }: Context, { fileSystemType }: Doctor): Findings {
  if (process.platform !== 'linux') return undefined
  const folders = new Set([home.engine, home.catalogue, home.state].filter(isFile).map(nearestFolder))
  const hint = 'Set PROSPECT_HOME to a folder on a disk of this machine.'
  const troubles = [...folders].map((folder) => {
    const name = overNetwork.get(fileSystemType(folder))
    const text = `${folder} is on a network file system (${name}), where databases can be damaged.`
    return name !== undefined && warning(text, hint)
  })
  return orElse(troubles, 'The databases are on a disk of this machine.')
}

function nearestFolder(path: string): string {
  const above = dirname(path)
  return above === path || statsOf(above) ? above : nearestFolder(above)
}

/** Checks that commands take what `config.json` says. */
function settingsFile(context: Context): Findings {
  const { config } = context.home
  if (!statsOf(config)) return ok('There is no config.json: every setting has its default.')
  const { profiles = {} } = context.settings()
  if (!isObject(profiles) || !Object.values(profiles).every(isObject))
    return problem(`"profiles" in ${config} is not an object of profiles.`, `Correct it in ${config}.`)
  const troubles = Object.entries(profiles).flatMap(([name, profile]) =>
    Object.entries(profile).map(([key, value]) => {
      const { text, hint } = refusedBy(() => readSetting(key, String(value))) ?? {}
      return text !== undefined && problem(`Profile ${name}: ${text}`, `${hint} Correct it in ${config}.`)
    }),
  )
  return orElse(
    [...troubles, refusedBy(() => profileOf(context.settings(), undefined))],
    `config.json is in order: ${countOf(Object.keys(profiles).length, 'profile')} of your own.`,
  )
}

function target(context: Context): Findings {
  // What is wrong with the settings has a check of its own.
  if (!resultOr(undefined, context.settings)) return undefined
  const found = targetIn(context)
  if (found.kind === 'local') return ok('Requests go to the engine of this machine.')
  const how = found.direct ? ', directly' : ''
  const spare =
    found.otherUrls.length > 0 ? `; where it does not answer, to ${found.otherUrls.join(' or ')}` : ''
  // What `--insecure-http` permits.
  const plain = refusedBy(() => baseUrlsOf(addressesText(found), 'The base url'))
  return [
    ok(`Requests go to ${found.baseUrl}${how}${spare}.`),
    plain && warning(plain.text, 'Use its https address.'),
  ]
}

function remoteTarget(context: Context): RemoteTarget | undefined {
  const found = chosenTarget(context)
  return found?.kind === 'remote' ? found : undefined
}

/** Checks that each server can be reached, what it reports about itself, and that it accepts the key. */
async function server(context: Context): Promise<Findings> {
  const target = remoteTarget(context)
  if (!target) return undefined
  const urls = [target.baseUrl, ...target.otherUrls]
  const apiKey = await context.withGlobals({ direct: true }).apiKey().catch(problemOf)
  const examined = await Promise.all(urls.map((url) => examine(context, target, url, apiKey)))
  // While one answers, the others can wait.
  const isAnyReached = examined.some(({ isReached }) => isReached)
  const unreached = isAnyReached ? warning : problem
  const workspaces = new Set(examined.flatMap(({ workspace }) => workspace ?? []))
  return [
    ...examined.flatMap(({ isReached, findings }) =>
      isReached ? findings : findings.map((one) => one && unreached(one.text, one.hint)),
    ),
    isAnyReached && typeof apiKey !== 'string' && apiKey,
    workspaces.size > 1 &&
      problem(
        'The servers answer for different workspaces, so they are not over one database: a lookup could be paid twice.',
        'Leave those out of the addresses that are not over the same database as the first.',
      ),
    ...(await syncServers(context, target)),
  ]
}

interface Examined {
  readonly isReached: boolean
  readonly findings: readonly Found[]
  /** Id of the workspace that it answers for; absent where it does not say so. */
  readonly workspace?: string | undefined
}

async function examine(
  context: Context,
  target: RemoteTarget,
  url: string,
  apiKey: string | Verdict | undefined,
): Promise<Examined> {
  const name = target.otherUrls.length > 0 ? url : target.origin
  const hint =
    'Check the address, the network and the proxy settings; --local asks the engine of this machine.'
  try {
    const answer = await fetchOnce(context, new URL(`${url.replace(/\/api\/v2$/, '')}/health`))
    const tried: Omit<Examined, 'isReached'> =
      typeof apiKey === 'string'
        ? await key(context, target, url, apiKey).catch((error) => ({ findings: [problemOf(error)] }))
        : { findings: [] }
    const about = [healthVerdict(target, name, answer), clockTrouble(context, answer)]
    return { ...tried, isReached: true, findings: [...about, ...tried.findings] }
  } catch (error) {
    const trouble = problem(`${name} cannot be reached: ${reasonOf(error)}.`, hint)
    return { isReached: false, findings: [trouble] }
  }
}

/** Checks that the addresses of the synchronous waterfall can be reached, where they are others. */
async function syncServers(context: Context, { origins, syncUrls = [] }: RemoteTarget): Promise<Found[]> {
  const others = syncUrls.filter((url) => !origins.includes(new URL(url).origin))
  return Promise.all(
    others.map((url) =>
      fetchOnce(context, new URL('/health', url)).then(
        () => ok(`${url}, for the synchronous waterfall, is reached.`),
        (error: unknown) =>
          warning(
            `${url}, for the synchronous waterfall, cannot be reached: ${reasonOf(error)}.`,
            'Correct it: prospect config set sync_base_url URL',
          ),
      ),
    ),
  )
}

type ServerAnswer = Awaited<ReturnType<typeof fetchOnce>>

const timeoutMs = 5_000

/** Requests an address once, without a key. Returns the answer, with header names in lower case. */
async function fetchOnce({ streams, clock, onClose }: Context, base: URL) {
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
  const request = { method: 'GET', path: base.pathname } as const
  const over = AbortSignal.timeout(timeoutMs)
  const { status, headers, body } = await connection.exchange(request, { accept: 'application/json' }, over)
  return { status, headers, text: Buffer.from(body).toString() }
}

function healthVerdict({ idempotency }: RemoteTarget, name: string, { status, text }: ServerAnswer): Verdict {
  if (status >= 500) return warning(`${name} answers, but reports an error (${status}).`, 'Try later.')
  const redirect = `${name} answers with a redirect, which is not followed.`
  if (status >= 300 && status < 400) return warning(redirect, 'Use the address it leads to.')
  const supportsKeys = resultOr(false, () => typeof valueAt(JSON.parse(text), 'idempotency') === 'string')
  if (idempotency !== undefined || supportsKeys) return ok(`${name} is reached.`)
  return ok(
    `${name} answers. Whether it supports idempotency keys is unknown, so a call whose answer is lost is not repeated.`,
    'If it does: prospect config set idempotency Idempotency-Key',
  )
}

function clockTrouble({ clock }: Context, { headers }: ServerAnswer): Found {
  const offMs = Math.abs(Date.parse(String(headers.date)) - clock.now())
  const minutes = formatNumber(Math.round(offMs / 60_000))
  const text = `The clocks of this machine and of the server differ by ${minutes} minutes.`
  const hint = 'Set the time of this machine: signed deliveries are refused beyond 5 minutes.'
  return offMs > engine.toleratedMs && warning(text, hint)
}

async function key(
  context: Context,
  target: RemoteTarget,
  url: string,
  apiKey: string,
): Promise<Omit<Examined, 'isReached'>> {
  const isOneOfSeveral = target.otherUrls.length > 0
  // Direct, so that the check leaves no trace in the state of this machine.
  const caller = await context.withGlobals({ direct: true, baseUrl: url }).caller()
  const ask = (id: OperationId) => caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(timeoutMs) })
  const credits = await ask('credits.show')
  if (!isOk(credits)) {
    const { error, hint } = reportOfReply(credits)
    const where = isOneOfSeveral ? ` at ${url}` : ''
    return {
      findings: [
        problem(`GET /credits is refused${where} with ${credits.status}: ${withoutStop(error)}.`, hint),
      ],
    }
  }
  const balance = numberAt(credits.body, 'credits.enrichment')
  const left = balance !== undefined ? `; ${formatNumber(balance)} credits are left` : ''
  const { body } = await ask('account.show')
  const { text } = describeServer({ ...target, baseUrl: url }, stringAt(body, 'account.email'))
  const isValid = (name: string) => valueAt(body, `integrations.${name}_session_valid`) !== false
  const hint = () => 'Renew it where the server is managed.'
  const name = isOneOfSeveral ? url : 'The server'
  return {
    findings: [
      ok(`${name} accepts the key${left}. Answers come from ${text}.`),
      ...engine.sessionTroubles(isValid('network'), isValid('premium'), hint),
    ],
    workspace: stringAt(body, 'workspace.id'),
  }
}

async function webhooks(context: Context): Promise<Findings> {
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
