import type { Machine } from '../command.js'
import { fakeHubspot, type HubspotAccount, hubspotKey } from './hubspot.js'
import { fakePipedrive, type PipedriveAccount, pipedriveKey } from './pipedrive.js'
import type { Fields, Records } from './records.js'
import { fakeSalesforce, type SalesforceAccount, salesforceKey } from './salesforce.js'
import type { Done, Happening, Moment } from './server.js'

/** How many records an account has. */
export interface Size {
  readonly contacts?: number
  readonly companies?: number
}

/** A fake CRM, and what its fields are called. */
export interface OpenedCrm {
  readonly crm: 'hubspot' | 'pipedrive' | 'salesforce'
  readonly origin: string
  readonly key: string
  readonly people: Records
  readonly companies: Records
  readonly done: readonly Done[]
  readonly count: (path?: RegExp) => number
  readonly at: (moment: Moment, happening: Happening) => void
  readonly breaches: () => number
  readonly pass: (milliseconds: number) => void
  readonly close: () => Promise<void>
  readonly emailOf: (fields: Fields) => string | undefined
  readonly domainOf: (fields: Fields) => string | undefined
  /** Name of a person's address. */
  readonly email: string
  /** Names of a person's title and of a company's industry, where the account has them. */
  readonly title: string
  readonly industry: string
}

const hostIn = (website: unknown): string | undefined =>
  typeof website === 'string' ? website.replace(/^https?:\/\/(www\.)?/, '') : undefined

/** Starts each kind of CRM, with short windows of its limits. */
export const openers = {
  hubspot: async (size: HubspotAccount = {}): Promise<OpenedCrm> => {
    const fake = await fakeHubspot({ window: 300, ...size })
    return {
      ...fake,
      crm: 'hubspot',
      email: 'email',
      key: hubspotKey,
      people: fake.contacts,
      companies: fake.companies,
      emailOf: ({ email }) => email as string | undefined,
      domainOf: ({ domain }) => domain as string | undefined,
      title: 'jobtitle',
      industry: 'industry',
    }
  },
  pipedrive: async (size: PipedriveAccount = {}): Promise<OpenedCrm> => {
    const fake = await fakePipedrive({ window: 300, hasTitles: true, ...size })
    return {
      ...fake,
      crm: 'pipedrive',
      email: 'emails',
      key: pipedriveKey,
      people: fake.persons,
      companies: fake.organizations,
      emailOf: ({ emails }) => (emails as readonly { value: string }[] | undefined)?.[0]?.value,
      domainOf: ({ website }) => hostIn(website),
      title: 'job_title',
      industry: 'industry',
    }
  },
  salesforce: async (size: SalesforceAccount = {}): Promise<OpenedCrm> => {
    const fake = await fakeSalesforce(size)
    return {
      ...fake,
      crm: 'salesforce',
      email: 'Email',
      key: salesforceKey,
      people: fake.contacts,
      companies: fake.accounts,
      emailOf: ({ Email }) => Email as string | undefined,
      domainOf: ({ Website }) => hostIn(Website),
      title: 'Title',
      industry: 'Industry',
    }
  },
} as const

/** Connects a machine with an account. Throws what the command says where it fails. */
export async function connect(
  here: Machine,
  { crm, origin, key }: Pick<OpenedCrm, 'crm' | 'origin' | 'key'>,
  ...more: readonly string[]
) {
  const at = ['--base-url', origin, '--allow-target', '127.0.0.0/8']
  const result = await here.run(['crm', 'connect', crm, '--key-stdin', ...at, ...more, '--json'], {
    stdin: key,
  })
  if (result.code !== 0) throw new Error(`exit ${result.code}: ${result.stderr}`)
  return result
}
