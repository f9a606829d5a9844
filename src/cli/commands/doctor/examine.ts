import { reasonOf } from './context/reason.js'
import type { Check, Scene } from './context/scene.js'
import { problem, type Verdict } from './context/verdict.js'

/** What a check said, with its name; one that found several things says each. */
export interface Finding extends Verdict {
  readonly name: string
}

/** What all checks said; warnings leave it in order. */
export interface Examination {
  readonly ok: boolean
  readonly checks: readonly Finding[]
}

/** Makes the checks one after the other; one that fails itself is a problem, and keeps none of the others from looking. */
export async function examine(checks: readonly Check[], scene: Scene): Promise<Examination> {
  const findings: Finding[] = []
  for (const { name, look } of checks)
    for (const { status, text, hint } of await verdictsOf(look, scene))
      findings.push({ name, status, text, hint })
  return { ok: findings.every(({ status }) => status !== 'problem'), checks: findings }
}

async function verdictsOf(look: Check['look'], scene: Scene): Promise<readonly Verdict[]> {
  try {
    return await look(scene)
  } catch (error) {
    return [problem(`This could not be looked at: ${reasonOf(error)}.`)]
  }
}
