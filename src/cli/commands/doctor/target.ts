import { ConnectionLost, isOk, type Reply } from '../../../api/calls/caller.js'
import { isObject, resultOr } from '../../../api/values/objects.js'
import { isOwnMachine } from '../../../api/values/url.js'
import type { Settings } from '../../context/context.js'
import { reportOfReply, Stop, UsageError } from '../../context/errors.js'
import { numberAt, stringAt, valueAt } from '../../output/records.js'
import { countOf, formatNumber } from '../../output/text.js'
import { describeSource } from '../../target/local-target.js'
import { baseUrlOf, type RemoteTarget } from '../../target/resolve-target.js'
import { builtIn, keyNames, profileKeys } from '../setup/profiles.js'
import {
  type DoctorContext,
  type Findings,
  ok,
  orElse,
  type PublicUrlAnswer,
  problem,
  reasonOf,
  type ServerAnswer,
  type Verdict,
  warning,
} from './context.js'
import { sessionVerdicts, toleratedMs } from './data.js'

/** Checks that this program understands `config.json`. */
export function settingsFile(context: DoctorContext): Findings {
  const { config } = context.home
  if (!context.files.entry(config)) return ok('There is no config.json: every setting has its default.')
  const settings = context.settings()
  if (!settings) return problem(`${config} is not a JSON object.`, 'Correct it, or delete it to start again.')
  const { profile: used, profiles = {}, ...unknown } = settings as Settings & Record<string, unknown>
  if (!isObject(profiles)) return problem(`"profiles" in ${config} is not an object.`, `Correct ${config}`)
  const names = Object.keys(profiles)
  const troubles = [
    ...unknownKeys(Object.keys(unknown), ''),
    ...names.flatMap((name) => profileTroubles(name, profiles[name])),
    ...(used === undefined || builtIn.includes(used) || names.includes(used)
      ? []
      : [problem(`The profile in use, ${used}, does not exist.`, 'prospect profiles use default')]),
  ]
  return orElse(troubles, `config.json is in order: ${countOf(names.length, 'profile')} of your own.`)
}

function profileTroubles(name: string, profile: unknown): Findings {
  if (!isObject(profile))
    return problem(`The profile ${name} is not an object.`, `prospect profiles remove ${name}`)
  const keys = Object.keys(profile)
  const isKnown = (key: string): key is keyof typeof profileKeys => Object.hasOwn(profileKeys, key)
  return [
    ...unknownKeys(
      keys.filter((key) => !isKnown(key)),
      ` in the profile ${name}`,
    ),
    ...keys.filter(isKnown).flatMap((key) => valueTroubles(name, key, profile[key])),
  ]
}

function unknownKeys(keys: readonly string[], where: string): readonly Verdict[] {
  if (keys.length === 0) return []
  const some = keys.length === 1 ? 'A setting is' : 'Settings are'
  return [warning(`${some} not known${where}: ${keys.join(', ')}.`, `Settings of a profile: ${keyNames}.`)]
}

function valueTroubles(name: string, key: keyof typeof profileKeys, value: unknown): Findings {
  const { parse, description } = profileKeys[key]
  const hint = `It takes ${description}: prospect config set ${key} default --profile ${name} resets it.`
  try {
    if (parse(String(value)) !== undefined) return []
    return problem(`${key} of the profile ${name} has an invalid value.`, hint)
  } catch (error) {
    // An address may hold a password, so the error leaves the value out.
    return problem(`${key} of the profile ${name} cannot be used: ${reasonOf(error)}.`, hint)
  }
}

export function target(context: DoctorContext): Findings {
  if (context.settings() === undefined) return []
  const found = context.target()
  if (found.kind === 'local') return ok('Requests go to the engine of this machine.')
  const how = found.direct ? ', directly' : ''
  return [ok(`Requests go to ${found.baseUrl}${how}.`), ...plainHttp(found.baseUrl)]
}

function plainHttp(baseUrl: string): readonly Verdict[] {
  try {
    baseUrlOf(baseUrl, 'The base url')
    return []
  } catch (error) {
    return error instanceof UsageError ? [warning(error.message, 'Use its https address.')] : []
  }
}

/** Checks that the server can be reached, what it reports about itself, and that it accepts the key. */
export async function server(context: DoctorContext): Promise<readonly Verdict[]> {
  const target = remoteTarget(context)
  if (!target) return []
  const reached = await reach(context, target)
  const isReached = reached.every(({ status }) => status !== 'problem')
  return isReached ? [...reached, ...(await key(context, target))] : reached
}

/** Returns the chosen server; `undefined` when the target is local or invalid. */
function remoteTarget(context: DoctorContext): RemoteTarget | undefined {
  // The check of the target reports the reason where there is none.
  const target = context.settings() && resultOr(undefined, () => context.target())
  return target?.kind === 'remote' ? target : undefined
}

async function reach(context: DoctorContext, target: RemoteTarget): Promise<readonly Verdict[]> {
  try {
    const answer = await context.server(target).health()
    return [healthVerdict(target, answer), ...clockVerdicts(context, answer)]
  } catch (error) {
    const hint =
      'Check the address, the network and the proxy settings; --local asks the engine of this machine.'
    return [problem(`${target.origin} cannot be reached: ${reasonOf(error)}.`, hint)]
  }
}

function healthVerdict({ origin, idempotency }: RemoteTarget, { status, text }: ServerAnswer): Verdict {
  if (status >= 500) return warning(`${origin} answers, but reports an error (${status}).`, 'Try later.')
  if (status >= 300 && status < 400)
    return warning(
      `${origin} answers with a redirect, which is not followed.`,
      'Use the address it leads to.',
    )
  if (idempotency !== undefined || supportsKeys(text)) return ok(`${origin} is reached.`)
  return ok(
    `${origin} answers. Whether it supports idempotency keys is unknown, so a call whose answer is lost is not repeated.`,
    'If it does: prospect config set idempotency Idempotency-Key',
  )
}

const supportsKeys = (text: string): boolean =>
  resultOr(false, () => typeof valueAt(JSON.parse(text), 'idempotency') === 'string')

function clockVerdicts({ clock }: DoctorContext, { headers }: ServerAnswer): readonly Verdict[] {
  const theirs = Date.parse(String(headers.date))
  if (Number.isNaN(theirs) || Math.abs(theirs - clock.now()) <= toleratedMs) return []
  const minutes = Math.round(Math.abs(theirs - clock.now()) / 60_000)
  return [
    warning(
      `The clocks of this machine and of the server differ by ${formatNumber(minutes)} minutes.`,
      'Set the time of this machine: signed deliveries are refused beyond 5 minutes.',
    ),
  ]
}

async function key(context: DoctorContext, target: RemoteTarget): Promise<readonly Verdict[]> {
  try {
    const { call } = context.server(target)
    const credits = await call('credits.show')
    if (!isOk(credits)) return [refusal(credits)]
    const balance = numberAt(credits.body, 'credits.enrichment')
    const left = balance !== undefined ? `; ${formatNumber(balance)} credits are left` : ''
    const account = await call('account.show')
    const { text } = describeSource({ server: target, member: stringAt(account.body, 'account.email') })
    return [ok(`The server accepts the key${left}. Answers come from ${text}.`), ...serverSessions(account)]
  } catch (error) {
    if (error instanceof Stop) return [problem(error.message, error.hint)]
    if (error instanceof ConnectionLost)
      return [problem(`${error.message}.`, 'Check the network, and try again.')]
    throw error
  }
}

function refusal(reply: Reply): Verdict {
  const { error, hint } = reportOfReply(reply)
  return problem(`GET /credits is refused with ${reply.status}: ${error.replace(/\.$/, '')}.`, hint)
}

function serverSessions({ body }: Reply): readonly Verdict[] {
  const isValid = (name: string) => valueAt(body, `integrations.${name}_session_valid`) !== false
  const verdicts = sessionVerdicts(
    isValid('network'),
    isValid('premium'),
    'Renew it where the server is managed.',
  )
  return verdicts.filter(({ status }) => status !== 'ok')
}

export async function webhooks(context: DoctorContext): Promise<Findings> {
  const target = remoteTarget(context)
  if (!target) return []
  const { publicUrl, baseUrl } = target
  if (publicUrl === undefined) return checkWithoutTunnel(isOwnMachine(new URL(baseUrl)))
  const { origin } = new URL(publicUrl)
  try {
    return checkAnswer(await context.askPublicUrl(publicUrl), origin)
  } catch (error) {
    const hint = 'Start the tunnel, or correct it: prospect config set public_url URL'
    return warning(`${origin}, the address for webhooks, cannot be reached: ${reasonOf(error)}.`, hint)
  }
}

const checkWithoutTunnel = (isOwn: boolean): Verdict =>
  isOwn
    ? ok('The server is on this machine, and its deliveries reach it.')
    : ok(
        'No public_url is set: commands cannot wait for company imports, and other jobs are polled.',
        'With a tunnel to port 4011: prospect config set public_url URL',
      )

function checkAnswer(found: PublicUrlAnswer, origin: string): Verdict {
  if (found === 'home') return ok(`${origin} leads to this machine, to the port for deliveries.`)
  if (found === 'busy')
    return ok(`Port 4011 is in use, as by prospect listen: where ${origin} leads was not tried.`)
  return warning(
    `${origin} answers ${found}, and does not lead to port 4011 of this machine.`,
    'Point the tunnel at port 4011; for another port, give commands --receive-port.',
  )
}
