import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import { type Delivery, deliveryStates } from '../../../engine/tables/deliveries.js'
import { type AsyncJob, jobStates } from '../../../engine/tables/jobs.js'
import { Stop } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/io.js'
import {
  type CommandFactory,
  expandId,
  resolveIds,
  type StoredKind,
} from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { print } from '../../output/print.js'
import { toView } from '../../output/records.js'
import { namesOf } from '../../target/resolve-target.js'

export const jobsCommand: CommandFactory = ({ command, group }) =>
  group('jobs', 'Queued jobs: imports, waterfalls, list imports', [
    command('list', 'List the jobs, newest first')
      .withOptions({ state: ['<state>', `only these: ${jobStates.join(' | ')}`, jobStates], limit })
      .reads('engine')
      .printAdmin(
        async (admin, { options: { state, limit = defaultLimit } }) =>
          (await admin.jobs(limit, state)).map(toJobView),
        {
          columns: ['id', 'operation', 'name', 'state', 'done', 'expected', 'created_at'],
          optional: ['created_at', 'expected'],
          ids: ['id'],
          empty: 'No jobs found.',
        },
      ),
    command('show', 'Show a job')
      .addStoredId(storedJob)
      .reads('engine')
      .printAdmin(async (admin, invocation) => {
        const [id = ''] = await resolveIds(invocation, storedJob, admin.jobsStartingWith)
        const job = await admin.job(id)
        return { ...toJobView(job), webhook_url: job.webhookUrl, custom: job.custom }
      }),
    command('retry', 'Retry a failed job, as a new job')
      .addStoredId(storedJob)
      .printAdmin(async (admin, invocation) => {
        const [id = ''] = await resolveIds(invocation, storedJob, admin.jobsStartingWith)
        return toJobView(await admin.retryJob(id))
      }),
    command('run', 'Run all queued jobs and send all due webhooks, once')
      .withTarget('networkName', 'premiumName')
      .reads('engine')
      .run(async (outer) => {
        const names = namesOf(outer.globals, {})
        const context = names ? outer.withDatabase(outer.home.engine, { names }) : outer
        const worker = await context.worker()
        return interruptible(context.streams, async (signal) => {
          signal.addEventListener('abort', () => void worker.stop(), { once: true })
          await print(context, await worker.drain())
          return exitOfSignal(signal) ?? 0
        })
      }),
  ])

const storedJob: StoredKind = { noun: 'job', list: 'engine jobs list' }

const defaultLimit = 100
const limit = ['-L <n>', `at most this many (default: ${defaultLimit})`, whole] as const

const toJobView = ({ spent: credits, ...job }: AsyncJob) => ({
  ...toView(job, ['id', 'operation', 'kind', 'name', 'state', 'done', 'expected', 'truncated']),
  credits,
  ...toView(job, ['held', 'attempts', 'error', 'createdAt', 'finishedAt']),
})

export const deliveriesCommand: CommandFactory = ({ command, group }) =>
  group('deliveries', 'Webhooks that were sent, and those still to send', [
    command('list', 'List the deliveries, newest first')
      .withOptions({
        job: ['<id>', 'of this search, import, list or enrichment'],
        state: ['<state>', `only these: ${deliveryStates.join(' | ')}`, deliveryStates],
        limit,
      })
      .reads('engine')
      .printAdmin(
        async (admin, { options: { job, state, limit = defaultLimit } }) => {
          const jobId = job && ((await expandId(job, 'job', admin.jobsStartingWith)) ?? job)
          const filter = withoutUndefined({ jobId, state })
          return (await admin.deliveries(filter, limit)).map(toDeliveryView)
        },
        {
          columns: ['id', 'event', 'state', 'attempts', 'status', 'error', 'due_at'],
          optional: ['due_at', 'status', 'attempts'],
          ids: ['id'],
          empty: 'No deliveries found.',
        },
      ),
    command('show', 'Show a delivery with its body')
      .addStoredId(storedDelivery)
      .reads('engine')
      .printAdmin(async (admin, invocation) => {
        const [id = ''] = await resolveIds(invocation, storedDelivery, admin.deliveriesStartingWith)
        const { body, ...delivery } = await admin.delivery(id)
        return { ...toDeliveryView(delivery), body }
      }),
    command('retry', 'Send finished deliveries again, with all their attempts')
      .addStoredId(storedDelivery, true)
      .printAdmin(async (admin, invocation) => {
        const ids = await resolveIds(invocation, storedDelivery, admin.deliveriesStartingWith)
        const retried = await admin.retryDeliveries(ids)
        if (retried === 0)
          throw new Stop(
            'None of these deliveries has ended.',
            exitCodes.notFound,
            'See: prospect engine deliveries list --state failed',
          )
        return { retried }
      }),
  ])

const storedDelivery: StoredKind = { noun: 'delivery', list: 'engine deliveries list' }

const toDeliveryView = (delivery: Delivery) => ({
  ...toView(delivery, ['id', 'jobId', 'event', 'url', 'first', 'last', 'part', 'parts']),
  ...toView(delivery, ['state', 'attempts', 'status', 'error']),
  due_at: delivery.state === 'pending' ? isoTime(delivery.dueAt) : null,
  ...toView(delivery, ['createdAt', 'finishedAt']),
})
