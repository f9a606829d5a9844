import { toJson, toPrintableJson } from '../../api/values/json.js'
import { sign } from '../../api/webhooks/signature.js'
import { type Delivery, deliveryStates } from '../../engine/tables/deliveries.js'
import { type AsyncJob, jobStates } from '../../engine/tables/jobs.js'
import {
  ActionButton,
  Bar,
  count,
  Empty,
  Facts,
  Form,
  factsOf,
  formatNumber,
  LinkLine,
  pathOf,
  Section,
  Select,
  Table,
  Time,
} from '../page/elements.js'
import { type DashboardPorts, engineOf, type Html, type Page, type View } from '../page/view.js'

const newest = 100

export const jobs: View = {
  name: 'jobs',
  title: 'Jobs and deliveries',
  render: async (page) => {
    const [id, delivery] = [page.query.get('id'), page.query.get('delivery')]
    if (delivery !== null) return showDelivery(page, delivery)
    return id === null ? showLists(page) : showJob(page, id)
  },
  actions: {
    retry: async (ports, { id = '' }) => {
      const admin = await engineOf(ports)
      const job = await admin.retryJob(id)
      return { message: `The work is queued again as the job ${job.id}.` }
    },
    deliver: async (ports, { id = '' }) => {
      const admin = await engineOf(ports)
      const retried = await admin.retryDeliveries([id])
      return {
        message:
          retried === 0
            ? 'It has not finished yet, so it is not retried.'
            : `The delivery ${id} is due again.`,
      }
    },
  },
}

const oneOf = <T extends string>(known: readonly T[], given: string | null): T | undefined =>
  known.find((one) => one === given)

async function showLists({ ports, query }: Page): Promise<Html> {
  const admin = await engineOf(ports)
  const state = oneOf(jobStates, query.get('state'))
  const deliveryState = oneOf(deliveryStates, query.get('deliveries'))
  const [found, deliveries, status] = await Promise.all([
    admin.jobs(newest, state),
    admin.deliveries(deliveryState ? { state: deliveryState } : {}, newest),
    admin.status(),
  ])
  const { pending, delivered, failed } = status.deliveries
  return (
    <>
      <Form label="Show">
        <Select label="Jobs" name="state" values={jobStates} chosen={state} all="all" />
        <Select
          label="Deliveries"
          name="deliveries"
          values={deliveryStates}
          chosen={deliveryState}
          all="all"
        />
      </Form>
      <Section title={found.length === newest ? `Jobs: the ${newest} newest` : 'Jobs'}>
        {jobTable(found)}
      </Section>
      <Section title={deliveries.length === newest ? `Deliveries: the ${newest} newest` : 'Deliveries'}>
        <p class="empty">
          {formatNumber(pending)} pending, {formatNumber(delivered)} delivered, {formatNumber(failed)} failed
        </p>
        {deliveryTable(
          deliveries,
          'No webhook was sent. Jobs with --webhook-url deliver their results there.',
        )}
      </Section>
    </>
  )
}

const jobTable = (jobs: readonly AsyncJob[]) => (
  <Table
    label="Jobs"
    keyOf={({ id }) => id}
    columns={[
      { title: 'Job', cell: ({ id, name }) => <a href={pathOf('jobs', { id })}>{name || id}</a> },
      'operation',
      'state',
      {
        title: 'Progress',
        cell: ({ id, done, expected }) => <Bar label={`Progress of ${id}`} value={done} max={expected} />,
      },
      'done',
      'expected',
      'spent',
      'createdAt',
    ]}
    rows={jobs}
  >
    <Empty command="accounts search --keyword robots">No matching jobs. Start one with: </Empty>
  </Table>
)

const deliveryTable = (deliveries: readonly Delivery[], none: string) => (
  <Table
    label="Deliveries"
    keyOf={({ id }) => id}
    columns={[
      { title: 'Delivery', cell: ({ id }) => <a href={pathOf('jobs', { delivery: id })}>{id}</a> },
      'event',
      'state',
      'attempts',
      { title: 'Answer', cell: ({ status, error }) => status ?? error ?? '–' },
      { title: 'Next attempt', cell: (delivery) => <Time at={nextAttempt(delivery)} /> },
    ]}
    rows={deliveries}
  >
    <Empty>{none}</Empty>
  </Table>
)

const nextAttempt = ({ state, dueAt }: Delivery): number | null => (state === 'pending' ? dueAt : null)

async function showJob({ ports, isReadOnly }: Page, id: string): Promise<Html> {
  const admin = await engineOf(ports)
  const job = await admin.job(id)
  const [deliveries, records] = await Promise.all([
    admin.deliveries({ jobId: id }, newest),
    admin.jobRecords(id, -1, 10),
  ])
  return (
    <>
      <LinkLine path={pathOf('jobs')}>All jobs</LinkLine>
      <Section title={`Job ${job.id}`}>
        <Bar label="Progress" value={job.done} max={job.expected} />
        <Facts
          facts={{
            ...factsOf(job, 'state', 'name', 'operation', 'attempts', 'createdAt', 'finishedAt'),
            Done: `${formatNumber(job.done)} of ${formatNumber(job.expected)}${job.truncated ? ', truncated' : ''}`,
            Credits: `${formatNumber(job.spent)} spent, ${formatNumber(job.held)} held`,
            Error: job.error ?? undefined,
            Webhook: job.webhookUrl ?? 'none',
          }}
        />
        {job.state === 'failed' && !isReadOnly && (
          <div class="actions">
            <ActionButton action="jobs/retry" fields={{ id }} label="Retry" primary />
          </div>
        )}
      </Section>
      <Section title="Deliveries">
        {deliveryTable(
          deliveries,
          job.webhookUrl === null
            ? 'Nothing of this job is sent to a webhook.'
            : 'Nothing was sent to its webhook yet.',
        )}
      </Section>
      <Section title="First records">
        {records.length === 0 ? (
          <Empty command={`${readerOf(job.kind)} ${id}`}>None is stored here. All records of a job: </Empty>
        ) : (
          <pre tabindex={0}>{records.map(({ record }) => record).join('\n')}</pre>
        )}
      </Section>
    </>
  )
}

/** Returns the command that shows what work of a kind has found. */
function readerOf(kind: AsyncJob['kind']): string {
  if (kind === 'list_import') return 'lists get'
  return kind === 'contact_enrichment' ? 'contacts get' : 'searches get --all'
}

async function showDelivery({ ports, isReadOnly }: Page, id: string): Promise<Html> {
  const { body, ...delivery } = await (await engineOf(ports)).delivery(id)
  return (
    <>
      <LinkLine path={pathOf('jobs', { id: delivery.jobId })}>Its job</LinkLine>
      <Section title={`Delivery ${id}`}>
        <Facts
          facts={{
            ...factsOf(delivery, 'state', 'event', 'url', 'attempts', 'createdAt', 'finishedAt'),
            Records: `${formatNumber(delivery.first)} to ${formatNumber(delivery.last)}`,
            'Last answer':
              [delivery.status, delivery.error].filter((one) => one !== null).join(' ') || 'none',
            'Next attempt': <Time at={nextAttempt(delivery)} />,
          }}
        />
        {delivery.state !== 'pending' && !isReadOnly && (
          <div class="actions">
            <ActionButton action="jobs/deliver" fields={{ id }} label="Retry" primary />
          </div>
        )}
      </Section>
      <Section title="Signature">{await renderSignature(ports, delivery, body)}</Section>
      <Section title="Body">
        <pre tabindex={0}>{toPrintableJson(body, 2)}</pre>
      </Section>
    </>
  )
}

/** The headers that sign the body. Their time is that of the last change, so that the page stays the same. */
async function renderSignature(
  ports: DashboardPorts,
  { id, createdAt, finishedAt }: Omit<Delivery, 'body'>,
  body: unknown,
): Promise<Html> {
  const secrets = await (await engineOf(ports)).webhookSecrets()
  if (secrets.length === 0)
    return <Empty command="engine webhooks secret">No secret signs deliveries yet: </Empty>
  const headers = sign(id, finishedAt ?? createdAt, toJson(body), secrets)
  return (
    <>
      <p class="empty">
        {count(secrets.length, 'secret')} {secrets.length === 1 ? 'signs' : 'sign'} it now. An attempt has the
        time at which it is made.
      </p>
      <Facts facts={headers} />
    </>
  )
}
