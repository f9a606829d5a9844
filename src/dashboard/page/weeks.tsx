import { isoDay } from '../../api/values/dates.js'
import type { Admin } from '../../engine/admin/admin.js'
import { periodStart } from '../../engine/clock.js'
import { Bar, formatNumber, none, Table } from './elements.js'
import type { DashboardPorts, Html } from './view.js'

/** What a member has spent this week, here and at servers; null as a limit for none. */
export interface Week {
  readonly id: string
  readonly email: string
  readonly name: string | null
  readonly limit: number | null
  readonly consent: boolean
  readonly createdAt: number
  /** At the target of the pages. */
  readonly spent: number
  /** At other servers, where there is a limit. */
  readonly elsewhere: readonly { readonly server: string; readonly spent: number }[]
}

/** Returns the weeks of the members of this machine's workspace. A server counts those with a limit by itself, in real time. */
export async function weeksOf(ports: DashboardPorts, admin: Admin): Promise<readonly Week[]> {
  const { target } = ports
  const members = await admin.members()
  const monday = isoDay(periodStart('week', ports.now()))
  const today = isoDay(ports.now())
  const spent = target.isServer ? await ports.spent({ from: monday, to: today }) : []
  return members.map(({ id, email, name, weeklyLimit: limit, consentPersonalEmail: consent, ...member }) => {
    const counted = member.spentAtServers.find(({ server }) => server === target.name)?.spent ?? 0
    const onRecord = spent
      .filter((one) => one.target === target.name && one.member === email)
      .reduce((sum, { credits }) => sum + credits, 0)
    return {
      id,
      email,
      name,
      limit,
      consent,
      createdAt: member.createdAt,
      // Without a limit only the ledger knows it; with one, what is held counts, too.
      spent: !target.isServer ? member.spentThisWeek : limit === null ? onRecord : counted,
      elsewhere: limit === null ? [] : member.spentAtServers.filter(({ server }) => server !== target.name),
    }
  })
}

export const memberTable = ({ target }: DashboardPorts, weeks: readonly Week[]) => (
  <Table
    label="Members"
    columns={[
      'email',
      'name',
      { title: 'Spent this week', number: true, cell: ({ spent }) => formatNumber(spent) },
      {
        title: 'Weekly limit',
        number: true,
        cell: ({ limit }) => (limit === null ? none : formatNumber(limit)),
      },
      { title: 'In use', cell: useOf },
      ...(weeks.some(({ elsewhere }) => elsewhere.length > 0)
        ? [{ title: target.isServer ? 'At other servers' : 'At servers', cell: elsewhereOf }]
        : []),
      { title: 'Consent personal email', cell: ({ consent }) => (consent ? 'yes' : 'no') },
      'createdAt',
    ]}
    rows={weeks}
    keyOf={({ id }) => id}
  />
)

const useOf = ({ email, limit, spent }: Week): Html =>
  limit === null ? none : <Bar label={`The week of ${email}`} value={spent} max={limit} />

const elsewhereOf = ({ elsewhere, limit }: Week): Html =>
  elsewhere.length === 0
    ? none
    : elsewhere
        .map(({ server, spent }) => `${hostOf(server)}: ${formatNumber(spent)} of ${formatNumber(limit)}`)
        .join(', ')

const hostOf = (server: string): string => new URL(server).host

/** The share of a limit that is worth a notice while it is left. */
export const little = 0.1

/** Returns a sentence for each week that is used up, or nearly. */
export const scarceWeeks = ({ target }: DashboardPorts, weeks: readonly Week[]): readonly Html[] =>
  weeks.flatMap(({ email, limit, spent, elsewhere }) => {
    if (limit === null) return []
    const here = { place: target.isServer ? ` at ${target.shown}` : '', spent }
    const others = elsewhere.map((one) => ({ place: ` at ${hostOf(one.server)}`, spent: one.spent }))
    return [here, ...others].flatMap(({ place, spent: used }) =>
      limit - used > limit * little ? [] : [scarceWeek(email, place, Math.max(0, limit - used), limit)],
    )
  })

const scarceWeek = (email: string, place: string, left: number, limit: number): Html => (
  <>
    {left === 0
      ? `${email} has used up their ${formatNumber(limit)} credits of this week${place}.`
      : `${email} has ${formatNumber(left)} of ${formatNumber(limit)} credits left this week${place}.`}{' '}
    To raise the limit: <code>prospect engine members set {email} --weekly-limit N</code>
  </>
)
