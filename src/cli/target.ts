import type { GlobalOptions, Settings, Streams } from './context.js'
import { UsageError } from './exit.js'
import { profileOf } from './settings.js'

/** Where requests go. A remote server becomes another member of this union, and nothing else changes. */
export interface Target {
  readonly kind: 'local'
  /** Seconds a request may take. */
  readonly timeout?: number
  /** Seconds a rate limit is waited for. */
  readonly maxWait?: number
}

/** Chooses the target: `--local`, else the option, else the environment, else the profile, else local. */
export function targetOf(options: GlobalOptions, env: Streams['env'], settings: Settings): Target {
  const profile = profileOf(settings, options.profile ?? env.PROSPECT_PROFILE)
  const baseUrl = options.baseUrl ?? env.PROSPECT_BASE_URL ?? profile.base_url
  const isRemote = baseUrl !== undefined || profile.target === 'remote'
  if (!options.local && isRemote)
    throw new UsageError(
      'This version serves the local engine only; a remote server cannot be called yet.',
      'Add --local to use the local engine, or leave out --base-url.',
    )
  if (options.direct)
    throw new UsageError('--direct is about a remote server, and the target is the local engine.')
  return {
    kind: 'local',
    ...(profile.timeout === undefined ? {} : { timeout: profile.timeout }),
    ...(profile.max_wait === undefined ? {} : { maxWait: profile.max_wait }),
  }
}
