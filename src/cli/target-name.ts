import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Context, GlobalOptions } from './context.js'
import { targetOf } from './target.js'

/** The name of a target on record; an engine at another place is another one. */
export function targetName({ home, streams, settings }: Context, options: GlobalOptions): string {
  const target = targetOf(options, streams.env, settings())
  if (target.kind === 'remote') return target.baseUrl
  if (home.engine === join(dirname(home.catalogue), 'engine.db')) return 'local'
  return `local ${createHash('sha256').update(withoutSecrets(home.engine)).digest('hex').slice(0, 8)}`
}

/** The same place, whoever asks for it and with whatever password. */
const withoutSecrets = (location: string): string =>
  location.replace(/^(postgres(?:ql)?:\/\/)[^/@]*@/, '$1').replace(/(?<=[?&])(?:user|password)=[^&]*/g, '')

/** The name that spending is counted under. */
export const profileName = ({ streams, settings }: Context, options: GlobalOptions): string =>
  options.profile ?? streams.env.PROSPECT_PROFILE ?? settings().profile ?? 'default'
