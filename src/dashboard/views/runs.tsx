import { withoutUndefined } from '../../api/values/objects.js'
import {
  ActionButton,
  Bar,
  count,
  Empty,
  Facts,
  factsOf,
  formatNumber,
  formatSeconds,
  LinkLine,
  pathOf,
  Section,
  Table,
  titleOf,
} from '../page/elements.js'
import type { Fields, Html, ListedRun, RestQuote, ShownRun, ShownStep, View } from '../page/view.js'

const perPage = 50

export const runs: View = {
  name: 'runs',
  title: 'Runs',
  render: async ({ ports: { runs }, query, isReadOnly }) => {
    const isShared = runs.canShare && query.get('place') === 'shared'
    const id = query.get('id')
    if (id !== null) return runPage(await runs.show(id, isShared), isShared, isReadOnly)
    const before = Number(query.get('before')) || undefined
    const page = await runs.list(withoutUndefined({ limit: perPage + 1, before }), isShared)
    return (
      <Section title={isShared ? 'Runs that machines share' : 'Runs of this machine'}>
        {placesOf(runs.canShare, isShared)}
        {runTable(page.slice(0, perPage), isShared)}
        {page.length > perPage && (
          <LinkLine path={pathOf('runs', { before: page[perPage - 1]?.number, place: placeOf(isShared) })}>
            Older runs
          </LinkLine>
        )}
      </Section>
    )
  },
  actions: {
    export: async ({ runs }, fields) => {
      const [id, isShared] = runOf(fields)
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="run-${id.slice(0, 8)}.csv"`,
      }
      return new Response(await runs.export(id, isShared), { headers })
    },
    quote: async ({ runs }, fields) => {
      const quote = await runs.quote(...runOf(fields))
      const most = String(quote.credits.max)
      return {
        message: describeQuote(quote),
        confirm: { action: 'resume', fields: { ...fields, most }, label: 'Resume' },
      }
    },
    check: async ({ runs }, fields) => ({ message: describeQuote(await runs.quote(...runOf(fields))) }),
    resume: async ({ runs }, fields) => {
      await runs.resume(...runOf(fields), Number(fields.most) || 0)
      return { message: `Resuming the run ${fields.id}.` }
    },
    stop: async ({ runs }, fields) => {
      await runs.stop(...runOf(fields))
      return { message: `The run ${fields.id} stops once the rows it is looking up are answered.` }
    },
  },
}

const placeOf = (isShared: boolean) => (isShared ? 'shared' : undefined)

const runOf = ({ id = '', place }: Fields): [id: string, isShared: boolean] => [id, place === 'shared']

const fieldsOf = (id: string, isShared: boolean): Fields => ({ id, ...(isShared ? { place: 'shared' } : {}) })

const placesOf = (canShare: boolean, isShared: boolean) => (
  <p class="empty">
    {isShared
      ? 'These runs are in the shared database; any machine can resume them. '
      : 'Runs of other machines are visible only when they are shared (--shared). '}
    {canShare && (
      <a href={pathOf('runs', { place: isShared ? undefined : 'shared' })}>
        {isShared ? 'Runs of this machine' : 'Runs that machines share'}
      </a>
    )}
  </p>
)

const runTable = (runs: readonly ListedRun[], isShared: boolean) => (
  <Table
    label="Runs"
    keyOf={({ id }) => id}
    columns={[
      {
        title: 'File',
        cell: ({ id, file }) => (
          <a href={pathOf('runs', { id, place: placeOf(isShared) })}>{file.split(/[\\/]/).at(-1)}</a>
        ),
      },
      'operation',
      'status',
      {
        title: 'Progress',
        cell: (run) => <Bar label={`Progress of ${run.id}`} value={run.done} max={run.rows} />,
      },
      'done',
      'rows',
      'credits',
      'started_at',
    ]}
    rows={runs}
  >
    <Empty command="accounts enrich --csv companies.csv">No file was looked up yet. Start a run with: </Empty>
  </Table>
)

function runPage(run: ShownRun, isShared: boolean, isReadOnly: boolean) {
  const fields = fieldsOf(run.id, isShared)
  return (
    <>
      <LinkLine path={pathOf('runs', { place: placeOf(isShared) })}>All runs</LinkLine>
      <Section title={`Run ${run.id}`}>
        <Bar label="Progress" value={run.done} max={run.rows} />
        <Facts facts={factsOfRun(run)} />
        {!isReadOnly && (
          <div class="actions">
            {!run.steps && <ActionButton action="runs/export" fields={fields} label="Export" />}
            {run.status === 'running' ? (
              <ActionButton action="runs/stop" fields={fields} label="Stop" />
            ) : (
              !run.steps && <ActionButton action="runs/check" fields={fields} label="Check the file" />
            )}
            {run.status === 'stopped' && !run.steps && (
              <ActionButton action="runs/quote" fields={fields} label="Resume…" primary />
            )}
          </div>
        )}
        {run.status === 'stopped' && run.steps && (
          <p>
            It goes on with <code>prospect flow resume {run.id.slice(0, 8)}</code>
          </p>
        )}
        {run.problem !== undefined && <p class="refusal">The last resume ended: {run.problem}</p>}
      </Section>
      <Section title={run.steps ? 'Steps' : 'Lookups'}>
        {run.steps ? stepTable(run.steps) : lookupTable(run)}
      </Section>
    </>
  )
}

function factsOfRun(run: ShownRun): Readonly<Record<string, Html>> {
  const { rate, done, rows } = run
  return {
    ...factsOf(run, 'status', 'operation', 'file', 'target', 'credits', 'started_at', 'finished_at'),
    Output: run.output ?? 'stdout',
    Rows: `${formatNumber(done)} of ${formatNumber(rows)}`,
    Rate: rate === undefined ? rate : `${formatNumber(Math.round(rate * 10) / 10)} rows per second`,
    'Time left': rate ? formatSeconds((rows - done) / rate) : undefined,
    'In use by': run.holder,
  }
}

/** What the steps of a flow took, found and left in the flow, and what that cost. */
const stepTable = (steps: readonly ShownStep[]) => (
  <Table
    label="Steps"
    columns={[
      'step',
      {
        title: '',
        cell: ({ step, in: came, out }) => <Bar label={step} value={out} max={Math.max(came, out)} />,
      },
      'in',
      'found',
      'out',
      'credits',
    ]}
    rows={steps}
  />
)

function lookupTable({ answers, invalid, done, rows }: ShownRun) {
  const sum = (some: ShownRun['answers']) => some.reduce((all, { lookups }) => all + lookups, 0)
  const lookups = sum(answers)
  const refused = sum(answers.filter(({ status }) => status === 'invalid'))
  const others = Math.max(0, done - lookups - Math.max(0, (invalid ?? 0) - refused))
  const steps: readonly Readonly<{ step: string; number: number; detail?: string | null }>[] = [
    { step: 'Rows of the file', number: rows },
    { step: 'Done', number: done },
    { step: 'Looked up', number: lookups },
    ...answers
      .filter(({ status }) => status !== 'invalid')
      .map(({ status, error: detail, lookups: number }) => ({ step: titleOf(status), number, detail })),
    { step: 'Invalid', number: Math.max(refused, invalid ?? 0), detail: 'Check the file for the reasons.' },
    {
      step: 'Without a lookup',
      number: others,
      detail: invalid === null ? 'Duplicates and invalid rows.' : 'Duplicates and skipped rows.',
    },
  ]
  return (
    <Table
      label="Lookups"
      columns={[
        'step',
        { title: '', cell: ({ step, number }) => <Bar label={step} value={number} max={rows} /> },
        'number',
        { title: '', cell: ({ detail }) => detail ?? '' },
      ]}
      rows={steps.filter(({ step, number }) => number > 0 || step === 'Rows of the file')}
    />
  )
}

function describeQuote({ credits, balance, lookups, invalid, invalid_reasons }: RestQuote): string {
  const price =
    credits.max === 0
      ? 'The rest costs nothing.'
      : `The rest costs at most ${count(credits.max, 'credit')}, about ${formatNumber(credits.expected)} as expected.`
  const left = `${count(lookups, 'lookup')} to send.`
  const funds = balance === null ? '' : ` The balance is ${count(balance, 'credit')}.`
  const reasons = invalid_reasons.map(({ reason, rows }) => `${reason} (${formatNumber(rows)})`).join('; ')
  const wrong = invalid === 0 ? '' : `\n${count(invalid, 'row')} invalid: ${reasons}.`
  return `${price} ${left}${funds}${wrong}`
}
