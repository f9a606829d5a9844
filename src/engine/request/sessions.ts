import { ApiError } from '../../api/calls/errors.js'
import type { Operation } from '../../api/operations/table.js'
import { searchPageOf } from '../../api/values/network-url.js'
import type { Workspace } from '../ports/ports.js'

type Fields = Readonly<Record<string, unknown>>

/** Refuses with 422 a request that acts on the network while the workspace has no valid session there. */
export function checkSession(operation: Operation, fields: Fields, workspace: Workspace): void {
  const { session } = operation
  if (!session || !isNeeded(session.when, fields)) return
  const premium = session.premium === 'yes' || (session.premium === 'url' && isPremiumUrl(fields.search_url))
  if (!workspace.networkSession || (premium && !workspace.premiumSession))
    throw new ApiError('network_session_required')
}

function isNeeded(when: 'always' | 'live' | 'source', fields: Fields): boolean {
  if (when === 'live') return fields.live !== false
  if (when === 'source') return (fields.source ?? 'live') === 'live'
  return true
}

const isPremiumUrl = (url: unknown): boolean => typeof url === 'string' && searchPageOf(url)?.premium === true
