import { areaOf, operations } from '../../api/operations/table.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Key } from '../../engine/tables/members.js'
import {
  ActionButton,
  Empty,
  Facts,
  Form,
  factsOf,
  formatNumber,
  formatSeconds,
  Input,
  Section,
  Select,
  State,
  Table,
  Time,
} from '../page/elements.js'
import { engineOf, type Html, type Page, type View } from '../page/view.js'
import { memberTable, weeksOf } from '../page/weeks.js'

type Clock = Awaited<ReturnType<Admin['clock']>>
type ListedKey = Key & { readonly member: string }

const keyActions: NonNullable<View['actions']> = {
  create: async (ports, { member = '', name = '', scopes = '', expires = '' }) => {
    const admin = await engineOf(ports)
    const made = await admin.createKey({
      member,
      ...(name === '' ? {} : { name }),
      scopes: scopes.split('\n').filter((scope) => scope !== ''),
      ...(expires === '' ? {} : { expiresAt: readTime(expires) }),
    })
    return {
      message: `A key of ${made.member} was created. Keep it: it cannot be shown again.`,
      detail: made.key,
    }
  },
  revoke: async (_, { id = '', hint = '' }) => ({
    message: `Revoke the key ${hint}…? The next request with it is refused.`,
    confirm: { action: 'revoked', fields: { id, hint }, label: 'Revoke' },
  }),
  revoked: async ({ revokeKey }, { id = '', hint = '' }) => {
    await revokeKey(id)
    return { message: `The key ${hint}… is revoked.` }
  },
}

export const engine: View = {
  name: 'engine',
  title: 'Engine',
  render: async (page) => {
    const admin = await engineOf(page.ports)
    const [status, clock] = await Promise.all([admin.status(), admin.clock()])
    return (
      <div class="grid">
        <Section title="Plan and credits">
          <Facts
            facts={{
              Plan: status.plan_listed ? status.plan : `${status.plan} (not listed: limits of free)`,
              Credits: formatNumber(status.credits.enrichment),
              Held: formatNumber(status.credits.held),
              'Next grant': <Time at={status.next_allocation_at} />,
              ...factsOf(status, 'members', 'keys', 'schema_version'),
            }}
          />
          <Empty command="engine plan set NAME">Change the plan: </Empty>
          <Empty command="engine credits add 500">Add credits: </Empty>
        </Section>
        {clockSection(clock, page.isReadOnly)}
        {await membersAndKeys(page, admin)}
      </div>
    )
  },
  actions: {
    ...keyActions,
    advance: async (ports, { number = '', unit = '' }) =>
      toClockResult(
        await (await engineOf(ports)).advanceClock(
          Number(number) * (unitMs[unit as keyof typeof unitMs] ?? Number.NaN),
        ),
      ),
    set: async (ports, { time = '', frozen = '' }) =>
      toClockResult(await (await engineOf(ports)).setClock(readTime(time), frozen === 'on')),
    reset: async (ports) => toClockResult(await (await engineOf(ports)).resetClock()),
  },
}

/** Who uses a server by a proxy of this machine, and with which keys: the credits, plan and clock are those of the server. */
export const members: View = {
  name: 'engine',
  title: 'Members and keys',
  render: async (page) => <div class="grid">{await membersAndKeys(page, await engineOf(page.ports))}</div>,
  actions: keyActions,
}

async function membersAndKeys({ ports, isReadOnly }: Page, admin: Admin): Promise<Html> {
  const [clock, keys, weeks] = await Promise.all([admin.clock(), admin.keys(), weeksOf(ports, admin)])
  return (
    <>
      <Section title="Members" wide>
        {memberTable(ports, weeks)}
        <Empty command="engine members add ann@example.com --weekly-limit 100">Add a member: </Empty>
      </Section>
      <Section title="Keys" wide>
        {!isReadOnly && newKeyForm(weeks.map(({ email }) => email))}
        {keyTable([...keys].sort(byUse), clock.now, isReadOnly)}
      </Section>
    </>
  )
}

const unitMs = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const

/** Returns the time (UTC) of a field of the type `datetime-local`; NaN for any other text. */
const readTime = (text: string): number => Date.parse(`${text}Z`)

const toClockResult = ({ now, frozen }: Clock) => ({
  message: `Engine time is ${new Date(now).toISOString()}${frozen ? ', frozen' : ''}.`,
})

const clockSection = (clock: Clock, isReadOnly: boolean) => (
  <Section title="Clock">
    <Facts
      facts={{
        'Engine time': <Time at={clock.now} />,
        [clock.offsetMs < 0 ? 'Behind real time' : 'Ahead of real time']: formatSeconds(
          Math.abs(Math.round(clock.offsetMs / 1_000)),
        ),
        State: <State state={clock.frozen ? 'frozen' : 'running'} />,
      }}
    />
    {!isReadOnly && (
      <>
        <Form action="engine/advance" label="Move">
          <Input
            label="Move forward by"
            name="number"
            type="number"
            min="1"
            max="3650"
            step="1"
            value="1"
            required
          />
          <Select label="Unit" name="unit" values={Object.keys(unitMs)} chosen="days" />
        </Form>
        <Form action="engine/set" label="Set">
          <Input label="Time (UTC)" name="time" type="datetime-local" step="1" required />
          <label class="inline">
            <input name="frozen" type="checkbox" /> Stand still
          </label>
        </Form>
        <ActionButton action="engine/reset" label="Back to real time" />
      </>
    )}
  </Section>
)

const newKeyForm = (emails: readonly string[]) => (
  <Form action="engine/create" label="Create a key" primary>
    <Select label="Member" name="member" values={emails} chosen={undefined} />
    <Input label="Name (optional)" name="name" maxlength={100} />
    <label>
      Areas (none chosen: all)
      <select name="scopes" multiple size={3}>
        {[...new Set(operations().map(({ id }) => areaOf(id)))].map((area) => (
          <option value={area}>{area}</option>
        ))}
      </select>
    </label>
    <Input label="Expires (UTC, optional)" name="expires" type="datetime-local" step="1" />
  </Form>
)

/** Valid keys first, and the newest first among them. */
const byUse = (one: Key, other: Key): number =>
  Number(one.revokedAt !== null) - Number(other.revokedAt !== null) || other.createdAt - one.createdAt

/** Most keys that are shown; `engine keys list` prints all. */
const maxKeys = 200

const keyTable = (keys: readonly ListedKey[], now: number, isReadOnly: boolean) => (
  <>
    <Table
      label="Keys"
      columns={[
        { title: 'Key', cell: ({ hint }) => <code>{hint}…</code> },
        'name',
        'member',
        { title: 'Areas', cell: ({ scopes }) => scopes?.join(', ') ?? 'all' },
        { title: 'State', cell: (key) => <State state={stateOf(key, now)} /> },
        'createdAt',
        { title: 'Last used', cell: ({ usedAt }) => <Time at={usedAt} /> },
        'expiresAt',
        ...(isReadOnly
          ? []
          : [
              {
                title: 'Action',
                cell: ({ id, hint, revokedAt }: ListedKey) =>
                  revokedAt === null ? (
                    <ActionButton action="engine/revoke" fields={{ id, hint }} label={`Revoke ${hint}…`} />
                  ) : (
                    ''
                  ),
              },
            ]),
      ]}
      rows={keys.slice(0, maxKeys)}
      keyOf={({ id }) => id}
    />
    {keys.length > maxKeys && (
      <Empty command="engine keys list">These are the first {maxKeys}. All of them: </Empty>
    )}
  </>
)

function stateOf({ revokedAt, expiresAt }: Key, now: number): string {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}
