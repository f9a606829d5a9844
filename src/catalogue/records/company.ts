import { companySizes } from '../../api/schemas/enumerations.js'
import type { Ids } from '../../engine/ports/ports.js'
import type { RawRecord } from '../kinds/kind.js'
import { toDomain } from '../normalize/domain.js'
import { cleanName, foldName } from '../normalize/name.js'
import { type NetworkProfile, parseProfile } from '../normalize/profile.js'
import { InvalidRecordError, parseCompanySize, shorten } from '../normalize/readers.js'
import { type CompanyRow, toCompanyRow } from './company-row.js'
import { fields, type RecordFields, readFields } from './fields.js'
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
export function prepareCompany(raw: RawRecord, ids: Pick<Ids, 'uuid'>): PreparedCompany {
  const { technology_details, headcount_history, technologies, ...account } = readFields(
    fields.companies,
    moveRangeToSize(raw),
  )
  const domain = account.domain ?? (account.website === undefined ? undefined : toDomain(account.website))
  const profiles = readProfiles(account)
  if (domain === undefined && profiles.length === 0)
    throw new InvalidRecordError('a company needs a domain, a network_id or a network_url')
  const uses = readUses(technologies, technology_details)
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
    history: headcount_history === undefined ? undefined : readHeadcountHistory(headcount_history),
  }
}

/** Many files have a range such as `51-200` as headcount: it becomes the employee range. */
function moveRangeToSize(raw: RawRecord): RawRecord {
  const range = typeof raw.headcount === 'string' ? parseCompanySize(raw.headcount) : undefined
  return range === undefined
    ? raw
    : { ...raw, headcount: undefined, employee_range: raw.employee_range ?? range }
}

function readProfiles({ network_url, network_id }: RecordFields<'companies'>): NetworkProfile[] {
  const profiles: NetworkProfile[] = network_id === undefined ? [] : [{ kind: 'company', id: network_id }]
  if (network_url === undefined) return profiles
  const profile = parseProfile(network_url)
  if (profile?.kind !== 'company')
    throw new InvalidRecordError(`network_url: '${shorten(network_url)}' is not the profile url of a company`)
  return profiles.some(({ id }) => id === profile.id) ? profiles : [...profiles, profile]
}

function toCompanySize(headcount: number): (typeof companySizes)[number] {
  const tops = [0, 10, 50, 200, 500, 1_000, 5_000, 10_000]
  const at = tops.findIndex((top) => headcount <= top)
  return companySizes[at < 0 ? companySizes.length - 1 : Math.max(at, 1)] ?? '10001+'
}
