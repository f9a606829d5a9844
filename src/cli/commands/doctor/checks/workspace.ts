import { isListedPlan } from '../../../../api/operations/plans.js'
import { hashKey } from '../../../../engine/request/keys.js'
import { localOrigin } from '../../../context/credentials.js'
import { Stop } from '../../../context/errors.js'
import { isoTime } from '../../../options/time-values.js'
import { askEngine, type EngineState, engineState } from '../context/engine-store.js'
import type { Scene } from '../context/scene.js'
import { keyStored } from '../context/stored-keys.js'
import { ok, problem, type Verdict, warning } from '../context/verdict.js'

/** Whether there is a workspace, and its plan is one that is listed. */
export async function workspace(scene: Scene): Promise<readonly Verdict[]> {
  const isThere = (await scene.databases.find('engine')).is !== 'missing'
  if (isThere && !(await scene.databases.current('engine'))) return []
  const state = await engineState(scene)
  if (!state) return [ok('There is no workspace yet; the first local command makes one.')]
  const { name, plan } = state.workspace
  const sentence = `The workspace ${name} has the plan ${plan}`
  if (isListedPlan(plan)) return [ok(`${sentence}.`)]
  return [
    warning(`${sentence}, which is not listed: the limits of Free hold.`, 'prospect engine plan set NAME'),
  ]
}

/** Whether the key that local commands use is accepted, and what for. */
export async function localKey(scene: Scene): Promise<readonly Verdict[]> {
  const state = await engineState(scene)
  if (!state) return []
  try {
    const given = isForEngine(scene) ? await scene.givenKey() : undefined
    const stored = keyStored(scene, localOrigin(state.workspace.id))
    const key = given ?? stored
    if (key === undefined)
      return [ok('No key is stored for the workspace; the next local command makes one.')]
    return [await verdictOf(scene, state, key, given !== undefined)]
  } catch (error) {
    if (error instanceof Stop) return [problem(error.message, error.hint)]
    throw error
  }
}

/** Whether requests go to the engine; where it is not clear where they go, another check tells. */
function isForEngine(scene: Scene): boolean {
  try {
    return scene.settings() !== undefined && scene.target().kind === 'local'
  } catch {
    return false
  }
}

async function verdictOf(scene: Scene, state: EngineState, key: string, isGiven: boolean): Promise<Verdict> {
  const which = isGiven ? 'The key given with the command or the environment' : 'The stored key'
  const hint = isGiven
    ? 'Unset PROSPECT_API_KEY to use the stored key, or make one: prospect engine keys create --member EMAIL'
    : `Take "${localOrigin(state.workspace.id)}" out of ${scene.home.credentials}: the next command makes itself a key.`
  const principal = await state.store.read((reads) => reads.principal(hashKey(key)))
  if (!principal) return problem(`${which} is not known to the engine.`, hint)
  const { revokedAt, expiresAt, scopes } = principal.key
  if (revokedAt !== null) return problem(`${which} was revoked at ${isoTime(revokedAt)}.`, hint)
  if (expiresAt !== null && expiresAt <= state.now)
    return problem(`${which} expired at ${isoTime(expiresAt)} (engine time).`, hint)
  const until = expiresAt === null ? '' : `, until ${isoTime(expiresAt)}`
  const sentence = `${which} is accepted, as ${principal.member.email}${until}`
  if (scopes === null) return ok(`${sentence}.`)
  return warning(`${sentence}, for ${scopes.join(', ')} only.`, 'Other areas answer 403 (exit 3).')
}

/** Whether calls that act on the network can. */
export const sessions = (scene: Scene): Promise<readonly Verdict[]> =>
  askEngine(scene, async (_, { workspace: { networkSession, premiumSession } }) =>
    sessionVerdicts(networkSession, premiumSession, 'prospect engine session set'),
  )

/** What it means where a session is not valid. */
export function sessionVerdicts(network: boolean, premium: boolean, mending: string): readonly Verdict[] {
  if (network && premium) return [ok('The sessions on the network and on its premium tool are valid.')]
  const hint = (name: string) =>
    mending.startsWith('prospect ') ? `${mending} --${name} true, or add --no-live` : mending
  return [
    ...(network
      ? []
      : [warning('The network session is not valid: live calls are refused.', hint('network'))]),
    ...(premium
      ? []
      : [warning('The premium session is not valid: its searches are refused.', hint('premium'))]),
  ]
}
