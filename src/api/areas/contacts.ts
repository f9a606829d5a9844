import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'
import type { Fields } from '../values/objects.js'

const identity = () => ({
  firstname: field.text('First name').optional(),
  lastname: field.text('Last name').optional(),
  domain: field.domain('Website domain of the company').optional(),
  company_name: field.text('Name of the company').optional(),
  network_url: field.profileUrl('Profile on the network; needed for phone and personal_email').optional(),
})

const contact = () => ({ ...identity(), custom: field.custom().optional() })

const request = () => ({
  enrichment_type: field.some(z.enum(['email', 'phone', 'personal_email']), 'What to look for', 10),
  phone_country_codes: field.countries('Only numbers of these countries').optional(),
  phone_type: field
    .some(z.enum(['all', 'mobile']), 'Which numbers: all, or mobile alone', 10)
    .default(['all']),
  webhook_url: field.webhookUrl('Address that receives the result').optional(),
})

/** Returns what a contact lacks for the requested types. */
function findMissing(contact: Fields, types: unknown): field.Objection | undefined {
  const asked = Array.isArray(types) ? types : []
  if (field.isGiven(contact.network_url)) return undefined
  if (asked.some((type) => type !== 'email')) return field.missing('network_url')
  const byName = field.isGiven(contact.firstname) && field.isGiven(contact.lastname)
  return byName && (field.isGiven(contact.domain) || field.isGiven(contact.company_name))
    ? undefined
    : field.badRequest(field.identified('firstname', 'lastname', 'domain', 'company_name'))
}

const identifiable = () => field.rule((fields) => findMissing(fields, fields.enrichment_type))

const allIdentifiable = () =>
  field.rule((fields) => {
    const contacts = fields.contacts as readonly Fields[]
    for (const [index, one] of contacts.entries()) {
      const objection = findMissing(one, fields.enrichment_type)
      if (objection?.error === 'missing_keys') return field.missing(`contacts.${index}.${objection.reason}`)
      if (objection) return { ...objection, reason: `contacts.${index}: ${objection.reason}` }
    }
    return undefined
  })

const result = () =>
  z.union([
    record.contactResult(),
    z.object({
      enrichment_id: value.uuid('Identifier of the bulk enrichment'),
      status: field.describe(z.enum(['pending', 'finished']), 'Whether all the work is done'),
      total: value.count('Contacts in all'),
      finished: value.count('Contacts that are done'),
      contacts: value.list(record.contactResult(), 'The contacts, in the order given'),
    }),
  ])

export const shapes = field.declare({
  'contacts.enrich': () => ({
    input: { ...request(), ...contact() },
    checks: [identifiable()],
    output: () => ({
      enrichment_id: value.uuid('Identifier of the enrichment'),
      first_name: value.maybe('First name'),
      last_name: value.maybe('Last name'),
      status: field.describe(z.literal('pending'), 'Always pending'),
      custom: value.echo(),
    }),
  }),
  'contacts.enrich_sync': () => ({
    input: { ...request(), ...contact() },
    checks: [identifiable()],
    output: () =>
      record.contactResult().extend({
        phones: value.strings('The same numbers as in phone').optional(),
        phone_status: field
          .describe(z.literal('valid'), 'valid where there is a number')
          .nullable()
          .optional(),
      }),
  }),
  'contacts.bulk_enrich': () => ({
    input: {
      contacts: field.bulk(z.object(contact()), '1 to 100 contacts', 1),
      ...request(),
    },
    checks: [allIdentifiable()],
    output: () => ({
      enrichment_id: value.uuid('Identifier of the bulk enrichment'),
      status: field.describe(z.literal('queued'), 'Always queued'),
      contacts: value.objects('One enrichment for each contact, in the order given', {
        enrichment_id: value.uuid('Identifier of the enrichment'),
        custom: value.echo(),
      }),
    }),
  }),
  'contacts.get': () => ({
    input: { id: field.pathId('Identifier of the enrichment') },
    output: () => result(),
  }),
  'contacts.get_enrichment': () => ({
    input: { id: field.pathId('Identifier of the enrichment') },
    output: () => result(),
  }),
  'contacts.check_data_availability': () => ({
    input: { contacts: field.some(z.object(identity()), '1 to 100 contacts', 100) },
    checks: [allIdentifiable()],
    output: () => ({
      results: value.objects('One result for each contact, in the order given', {
        email: value.yesNo('Whether a professional address can be found'),
        phone: value.yesNo('Whether a phone number can be found; false without network_url'),
        personal_email: value.yesNo('Whether a personal address can be found; false without network_url'),
      }),
    }),
  }),
  'contacts.reverse_lookup': () => ({
    input: { email: field.email('Professional or personal email address') },
    output: () => record.personRecord(),
  }),
  'messenger.validate': () => ({
    input: {
      phone_numbers: field
        .some(field.phone('Phone number'), '1 to 100 phone numbers in E.164', 100)
        .optional(),
      phone_number: field.phone('One phone number in E.164').optional(),
    },
    checks: [field.exactlyOne('phone_numbers', 'phone_number')],
    output: () => ({
      results: value.objects('One result for each number, in the order given', {
        phone_number: value.string('Phone number in E.164'),
        reachable: value.yesNo('Whether the messaging app reaches it'),
        checked_at: value.moment('When it was checked'),
      }),
    }),
  }),
})
