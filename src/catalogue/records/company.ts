import { companySizes } from '../../api/schemas/enumerations.js'
import type { LeaveOut } from '../../csv/names.js'
import type { Ids } from '../../engine/ports/ports.js'
import type { RawRecord } from '../kinds/kind.js'
import { toCompanyDomain } from '../normalize/domain.js'
import { cleanName, foldName } from '../normalize/name.js'
import { type NetworkProfile, parseProfile } from '../normalize/profile.js'
import { InvalidRecordError, parseCompanySize, shorten } from '../normalize/readers.js'
import { type CompanyRow, toCompanyRow } from './company-row.js'
import { fields, type RecordFields, readFields, readOr } from './fields.js'
import { type HeadcountEntry, readHeadcountHistory } from './headcount.js'
import { readUses, type TechnologyDetails } from './technologies.js'

/** A company that was read and is ready to be written. */
export interface PreparedCompany {
  readonly profiles: readonly NetworkProfile[]
  /** Its row as a new company, with a new id unless it has one. */
  readonly row: CompanyRow
  readonly uses: readonly TechnologyDetails[] | undefined
  readonly history: readonly HeadcountEntry[] | undefined
}

/** Reads a company. Throws when nothing identifies it: no domain, network id or profile url. */
export function prepareCompany(raw: RawRecord, ids: Pick<Ids, 'uuid'>, leaveOut: LeaveOut): PreparedCompany {
  const { technology_details, headcount_history, technologies, ...account } = readFields(
    fields.companies,
    moveRangeToSize(raw),
    leaveOut,
  )
  leaveOutForeignHost(account, 'domain', account.name, leaveOut)
  const { website } = account
  const domain =
    account.domain ?? (website === undefined ? undefined : toCompanyDomain(website, account.name))
  // An email address stands for the domain, and is no website.
  if (website?.includes('@') && !website.includes('/')) delete account.website
  const profiles = readProfiles(account, leaveOut)
  if (domain === undefined && profiles.length === 0)
    throw new InvalidRecordError('a company needs a domain, a network_id or a network_url')
  const uses =
    readOr(leaveOut, 'technology_details', technology_details, (details) =>
      readUses(technologies, details),
    ) ?? readUses(technologies, undefined)
  if (domain !== undefined) account.domain = domain
  const name = account.name === undefined ? undefined : foldName(account.name)
  if (account.name !== undefined) account.cleaned_name ??= cleanName(account.name, name)
  if (account.headcount !== undefined) account.employee_range ??= toCompanySize(account.headcount)
  if (uses) Object.assign(account, { technologies: uses.map(({ slug }) => slug) })
  const names = {
    domain: domain ?? null,
    network_id: profiles.find(({ id }) => id !== undefined)?.id ?? null,
    slug: profiles.find(({ slug }) => slug !== undefined)?.slug ?? null,
    name: name ?? null,
  }
  return {
    profiles,
    row: toCompanyRow({ id: ids.uuid(), ...account }, names),
    uses,
    history:
      headcount_history && readOr(leaveOut, 'headcount_history', headcount_history, readHeadcountHistory),
  }
}

/** Many files have a range such as `51-200` as headcount: it becomes the employee range. */
function moveRangeToSize(raw: RawRecord): RawRecord {
  const range = typeof raw.headcount === 'string' ? parseCompanySize(raw.headcount) : undefined
  return range === undefined
    ? raw
    : { ...raw, headcount: undefined, employee_range: raw.employee_range ?? range }
}

function readProfiles(account: RecordFields<'companies'>, leaveOut: LeaveOut): NetworkProfile[] {
  const { network_id } = account
  const profiles: NetworkProfile[] = network_id === undefined ? [] : [{ kind: 'company', id: network_id }]
  const profile = readProfile(account, 'network_url', 'company', leaveOut)
  return profile === undefined || profiles.some(({ id }) => id === profile.id)
    ? profiles
    : [...profiles, profile]
}

/** Reads the profile url in a field of a record, and leaves out what is no profile of that kind. */
export function readProfile<F extends string>(
  record: { [K in F]?: string | undefined },
  field: F,
  kind: NetworkProfile['kind'],
  leaveOut: LeaveOut,
): NetworkProfile | undefined {
  const url = record[field]
  const profile = url === undefined ? undefined : parseProfile(url)
  if (url === undefined || profile?.kind === kind) return profile
  delete record[field]
  const owner = kind === 'company' ? 'a company' : 'a person'
  leaveOut(field, url, `${field}: '${shorten(url)}' is not the profile url of ${owner}`)
  return undefined
}

/** Leaves out the domain of a record where many share it and the company's name is another one. */
export function leaveOutForeignHost<F extends string>(
  record: { [K in F]?: string | undefined },
  field: F,
  name: string | undefined,
  leaveOut: LeaveOut,
): void {
  const domain = record[field]
  if (domain === undefined || toCompanyDomain(domain, name) !== undefined) return
  delete record[field]
  leaveOut(field, domain, `${field}: '${domain}' is shared by many, and is not the company's own`)
}

function toCompanySize(headcount: number): (typeof companySizes)[number] {
  const tops = [0, 10, 50, 200, 500, 1_000, 5_000, 10_000]
  const at = tops.findIndex((top) => headcount <= top)
  return companySizes[at < 0 ? companySizes.length - 1 : Math.max(at, 1)] ?? '10001+'
}
