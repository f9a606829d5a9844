import { ConnectionLost, isOk, type Reply } from '../../../../api/calls/caller.js'
import { reportOfReply, Stop } from '../../../context/errors.js'
import { valueAt } from '../../../output/records.js'
import { grouped } from '../../../output/terminal.js'
import type { RemoteTarget } from '../../../target/resolve-target.js'
import type { Answer, Scene } from '../context/scene.js'
import { ok, problem, type Verdict, warning } from '../context/verdict.js'
import { toleratedMs } from './clock.js'
import { sessionVerdicts } from './workspace.js'

/** Whether the server of the target is reached, what it says of itself, and what it does with the key. */
export async function server(scene: Scene): Promise<readonly Verdict[]> {
  const target = remoteTarget(scene)
  if (!target) return []
  const reached = await reach(scene, target)
  const isReached = reached.every(({ status }) => status !== 'problem')
  return isReached ? [...reached, ...(await key(scene, target))] : reached
}

/** The server that requests go to, where that is clear and there is one. */
export function remoteTarget(scene: Scene): RemoteTarget | undefined {
  try {
    const target = scene.settings() === undefined ? undefined : scene.target()
    return target?.kind === 'remote' ? target : undefined
  } catch {
    // What is wrong with the target is told by the check of the target.
    return undefined
  }
}

async function reach(scene: Scene, target: RemoteTarget): Promise<readonly Verdict[]> {
  try {
    const answer = await scene.server(target).health()
    return [healthVerdict(target, answer), ...clockVerdicts(scene, answer)]
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
    const hint =
      'Check the address, the network and the proxy settings; --local asks the engine of this machine.'
    return [problem(`${target.origin} is not reached: ${reason}.`, hint)]
  }
}

function healthVerdict({ origin, idempotency }: RemoteTarget, { status, text }: Answer): Verdict {
  if (status >= 500)
    return warning(`${origin} is reached, and says that it does not work (${status}).`, 'Try later.')
  if (status >= 300 && status < 400)
    return warning(
      `${origin} answers with a redirect, which is not followed.`,
      'Use the address it leads to.',
    )
  if (idempotency !== undefined || honours(text)) return ok(`${origin} is reached.`)
  return ok(
    `${origin} is reached; whether it honours idempotency keys is not known, so that a lost answer is not asked again.`,
    'Where it does: prospect config set idempotency Idempotency-Key',
  )
}

function honours(text: string): boolean {
  try {
    return typeof valueAt(JSON.parse(text), 'idempotency') === 'string'
  } catch {
    return false
  }
}

function clockVerdicts({ clock }: Scene, { headers }: Answer): readonly Verdict[] {
  const theirs = Date.parse(String(headers.date))
  if (Number.isNaN(theirs) || Math.abs(theirs - clock.now()) <= toleratedMs) return []
  const minutes = Math.round(Math.abs(theirs - clock.now()) / 60_000)
  return [
    warning(
      `The clocks of this machine and of the server differ by ${grouped(minutes)} minutes.`,
      'Set the time of this machine: signed deliveries are refused beyond 5 minutes.',
    ),
  ]
}

async function key(scene: Scene, target: RemoteTarget): Promise<readonly Verdict[]> {
  try {
    const { call } = scene.server(target)
    const credits = await call('credits.show')
    if (!isOk(credits)) return [refusal(credits)]
    const balance = valueAt(credits.body, 'credits.enrichment')
    const left = typeof balance === 'number' ? `; ${grouped(balance)} credits are left` : ''
    return [ok(`The server accepts the key${left}.`), ...serverSessions(await call('account.show'))]
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
