import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'

const company = () =>
  z
    .object({
      name: field.text('Name').optional(),
      country_code: field.country().optional(),
      domain: field.domain().optional(),
      network_url: field.profileUrl('Profile on the network').optional(),
    })
    .check(field.atLeastOne('name', 'domain', 'network_url'))

/** A company of a list: as it was given, and what it was matched to. */
const listedCompany = () =>
  z.object({
    ordinal: value.count('Number of the company in the list, from 1'),
    name: value.maybe('Name, as given'),
    domain: value.maybe('Website domain, as given'),
    network_url: value.address('Profile on the network, as given'),
    country_code: value.maybe('ISO 3166-1 alpha-2 code of the country, as given'),
    account_id: value.maybe('Identifier of the company in the service; null while it is not matched'),
  })

/** Without a kind, a list without companies is a mistake. */
const companiesOrKind = () =>
  field.rule(
    ({ companies, kind }) =>
      field.isGiven(kind) || companies !== undefined ? undefined : field.missing('companies'),
    {
      always: true,
    },
  )

export const shapes = field.declare({
  'lists.create': () => ({
    input: {
      name: field.text('Name of the list'),
      companies: field.of(company(), 'Companies by name, domain or profile', 100_000).optional(),
      kind: field.oneOf(['account'], 'Kind of the list; account permits one without companies').optional(),
      webhook_url: field.webhookUrl('Address that is notified when the import is done').optional(),
      custom: field.custom().optional(),
    },
    checks: [companiesOrKind()],
    output: () => ({
      id: value.uuid('Identifier'),
      network_list_id: value.count('Identifier of the list on the network'),
    }),
  }),
  'lists.list': () => ({
    input: field.pages(),
    checks: [field.cursorOrPage()],
    output: () => ({
      lists: value.list(record.listRecord(), 'Lists, newest first'),
      pagination: record.pagination(),
    }),
  }),
  'lists.get': () => ({
    input: { id: field.pathId('Identifier of the list'), ...field.pages() },
    checks: [field.cursorOrPage()],
    output: () =>
      record.listRecord().extend({
        companies: value.list(listedCompany(), 'Its companies, in the order given'),
        pagination: record.pagination(),
      }),
  }),
  'lists.rename': () => ({
    input: { id: field.pathId('Identifier of the list'), name: field.text('New name of the list') },
    output: () => record.listRecord(),
  }),
})
