import type { OutputOf } from '../../api/areas/shapes.js'
import type { Operation } from '../../api/operations/table.js'
import { costOf, type Used } from '../credits/cost.js'
import type { Contact, Enrichment, WaterfallAsk } from '../ports/ports.js'
import type { Reached } from './waterfall.js'

/** A contact's result, as the API returns and delivers it. */
export type ContactResult = OutputOf<'contacts.enrich_sync'>

/** Returns the result of a contact from what a waterfall found, with its cost. */
export function contactRecord(
  operation: Operation,
  { found, used }: { readonly found: Reached; readonly used: Used },
  enrichment: Pick<Enrichment, 'id' | 'custom'>,
): ContactResult {
  const { first_name, last_name, network_profile_url, ...reached } = found
  return {
    enrichment_id: enrichment.id,
    ...{ first_name, last_name, network_profile_url },
    status: 'finished',
    ...reached,
    credits_used: costOf(operation, used),
    ...(enrichment.custom ? { custom: enrichment.custom } : {}),
  }
}

/** Returns the same record before anything is known. */
export function createPendingRecord(
  enrichment: Enrichment,
  contact: Contact | undefined,
  { types }: WaterfallAsk,
): ContactResult {
  return {
    enrichment_id: enrichment.id,
    first_name: enrichment.firstName,
    last_name: enrichment.lastName,
    network_profile_url: contact?.url ?? null,
    status: 'pending',
    ...(types.includes('email') && { email: null, email_status: null }),
    ...(types.includes('personal_email') && { personal_email: null, personal_email_status: null }),
    ...(types.includes('phone') && { phone: [], phone_details: [] }),
    credits_used: 0,
    ...(enrichment.custom ? { custom: enrichment.custom } : {}),
  }
}
