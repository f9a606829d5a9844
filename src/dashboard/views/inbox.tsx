import { parseBody, toPrintableJson } from '../../api/values/json.js'
import { resultOr, withoutUndefined } from '../../api/values/objects.js'
import type { EventFilter } from '../../storage/state/webhook-inbox.js'
import {
  count,
  Empty,
  Facts,
  Form,
  factsOf,
  Input,
  LinkLine,
  pathOf,
  Section,
  State,
  Table,
} from '../page/elements.js'
import type { Fields, Html, Page, View } from '../page/view.js'

const perPage = 50

export const inbox: View = {
  name: 'inbox',
  title: 'Inbox',
  render: async (page) => {
    const id = page.query.get('id')
    return id === null ? showList(page) : showEvent(page, id)
  },
  actions: {
    replay: async ({ inbox }, { id = '', url = '' }) => ({
      message: `${url} answered ${await inbox.replay(id, url)}.`,
    }),
    forward: async ({ inbox }, { url = '', ...fields }) => {
      const sent = await inbox.forward(filterOf(fields), url)
      return { message: `${count(sent, 'event')} sent to ${url}.` }
    },
  },
}

const filterOf = ({ event, search }: Fields): EventFilter =>
  withoutUndefined({ event: event || undefined, search: search || undefined })

async function showList({ ports: { inbox }, query, isReadOnly }: Page): Promise<Html> {
  const [event, search] = [query.get('event') ?? '', query.get('search') ?? '']
  const after = Number(query.get('after')) || undefined
  const page = await inbox.list(filterOf({ event, search }), perPage + 1, after)
  const rows = page.slice(0, perPage)
  return (
    <>
      <Form label="Show">
        <Input label="Event" name="event" value={event} placeholder="completed" />
        <Input label="Search id" name="search" value={search} />
      </Form>
      <Section title="Received events">
        <Table
          label="Received events"
          keyOf={({ seq }) => String(seq)}
          columns={[
            { title: 'Event', cell: (one) => <a href={pathOf('inbox', { id: one.id })}>{one.event}</a> },
            'receivedAt',
            {
              title: 'Signature',
              cell: ({ verified }) => <State state={verified ? 'verified' : 'not verified'} />,
            },
            {
              title: 'Forwarded',
              cell: ({ forwarded }) => (forwarded === null ? '–' : <State state={forwarded} />),
            },
            'bytes',
            'search',
          ]}
          rows={rows}
        >
          <Empty command="listen">No such event was received. Receive deliveries with: </Empty>
        </Table>
        {page.length > perPage && (
          <LinkLine path={pathOf('inbox', { event, search, after: rows.at(-1)?.seq })}>Older events</LinkLine>
        )}
      </Section>
      {!isReadOnly && rows.length > 0 && (
        <Section title="Forward">
          {sendForm('inbox/forward', { event, search }, 'Forward these events, the oldest first')}
        </Section>
      )}
    </>
  )
}

const sendForm = (action: string, fields: Fields, label: string) => (
  <Form action={action} fields={fields} label={label}>
    <Input label="Address" name="url" type="url" required placeholder="http://localhost:3000/hooks" />
  </Form>
)

async function showEvent({ ports: { inbox }, isReadOnly }: Page, id: string): Promise<Html> {
  const event = await inbox.find(id)
  if (!event) return <Empty command="events list">There is no such event, or it was purged: </Empty>
  return (
    <>
      <LinkLine path={pathOf('inbox')}>All events</LinkLine>
      <Section title={`Event ${event.id}`}>
        <Facts
          facts={{
            ...factsOf(event, 'event', 'receivedAt', 'search'),
            Signature: <State state={event.verified ? 'verified' : 'not verified'} />,
            ...event.headers,
          }}
        />
        {!isReadOnly && sendForm('inbox/replay', { id: event.id }, 'Replay')}
      </Section>
      <Section title="Forwarded">
        <Table
          label="Forwarded"
          columns={['target', 'state', 'attempts', 'answer', 'nextAt']}
          rows={event.forwards}
        >
          <Empty>It was not forwarded. Replay it above, or forward all events from the list.</Empty>
        </Table>
      </Section>
      <Section title="Body">
        <pre tabindex={0}>{formatBody(event.body)}</pre>
      </Section>
    </>
  )
}

/** Returns a body with line breaks. A reply that could not be used may be no JSON. */
const formatBody = (body: string): string => resultOr(body, () => toPrintableJson(parseBody(body), 2))
