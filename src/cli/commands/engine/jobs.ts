import { type Command, Option } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { AsyncJob, Delivery, JobState } from '../../../engine/ports/ports.js'
import { Stop } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import { type CommandEnvironment, createGroup, guide } from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { printRecords } from '../../output/print-records.js'
import { namesOf } from '../../target/resolve-target.js'
import { recordsOf } from '../../wait/result.js'
import { columnsOfKind } from '../../wait/result-shape.js'
import { addAdminAction, openAdmin } from './admin.js'

/** `prospect engine jobs`: imports, waterfalls and list imports that were accepted. */
export function jobsCommand(environment: CommandEnvironment): Command {
  return createGroup(
    environment,
    ['jobs', 'Accepted work: imports, waterfalls, list imports'],
    [listJobs, showJob, retryJob, runJobs],
  )
}

const jobStates: readonly JobState[] = ['queued', 'running', 'finished', 'failed']
const defaultLimit = 100

function listJobs(environment: CommandEnvironment): Command {
  const command = environment
    .command('list', 'List the jobs, newest first')
    .addOption(new Option('--state <state>', `only these: ${jobStates.join(' | ')}`).choices(jobStates))
    .option('--limit <n>', `at most so many (default: ${defaultLimit})`, whole)
  guide(command, ['engine jobs list', 'engine jobs list --state failed --json'])
  const columns = ['id', 'operation', 'name', 'state', 'done', 'expected', 'created_at']
  return addAdminAction(
    environment,
    command,
    async (admin, { options }) => {
      const { state, limit = defaultLimit } = options as { state?: JobState; limit?: number }
      return (await admin.jobs(limit, state)).map(toJobView)
    },
    { columns },
  )
}

function showJob(environment: CommandEnvironment): Command {
  const command = environment
    .command('show', 'Show a job, or with --records what it found')
    .argument('<id>', 'id of the search, import, list or enrichment')
    .option('--records', 'the records it has found so far')
  guide(command, [
    'engine jobs show 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11',
    'engine jobs show 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11 --records -o accounts.csv',
  ])
  return environment.action(command, async ({ args: [id = ''], options, globals }) => {
    const admin = await openAdmin(environment.context, globals)
    const job = await admin.job(id)
    if (options.records === true)
      await printRecords(environment.context, () => recordsOf(admin, job), globals, columnsOfKind(job.kind))
    else
      await environment.print({ ...toJobView(job), webhook_url: job.webhookUrl, custom: job.custom }, globals)
    return 0
  })
}

function retryJob(environment: CommandEnvironment): Command {
  const command = environment
    .command('retry', 'Queue the work of a failed job again, as a new job')
    .argument('<id>', 'id of the job, as jobs list shows it')
  guide(command, ['engine jobs retry 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'], 'Next: prospect engine jobs run')
  return addAdminAction(environment, command, async (admin, { args: [id = ''] }) =>
    toJobView(await admin.retryJob(id)),
  )
}

function runJobs(environment: CommandEnvironment): Command {
  const command = environment.command('run', 'Do all work and make all deliveries that are due, once')
  guide(command, ['engine jobs run', 'engine jobs run --json'])
  return environment.action(command, async ({ globals }) => {
    const names = namesOf(globals, {})
    const context = names
      ? environment.context.withDatabase(environment.context.home.engine, { names })
      : environment.context
    const worker = await context.worker()
    return interruptible(environment.context.streams, async (signal) => {
      signal.addEventListener('abort', () => void worker.stop(), { once: true })
      await environment.print(await worker.drain(), globals)
      return exitOfSignal(signal) ?? 0
    })
  })
}

/** Returns a job in the form in which commands print it. */
const toJobView = (job: AsyncJob) => ({
  ...{ id: job.id, operation: job.operation, kind: job.kind, name: job.name, state: job.state },
  ...{ done: job.done, expected: job.expected, truncated: job.truncated },
  ...{ credits: job.spent, held: job.held, attempts: job.attempts, error: job.error },
  created_at: isoTime(job.createdAt),
  finished_at: job.finishedAt === null ? null : isoTime(job.finishedAt),
})

/** `prospect engine deliveries`: what is sent to webhooks. */
export function deliveriesCommand(environment: CommandEnvironment): Command {
  return createGroup(
    environment,
    ['deliveries', 'What was sent to webhooks, and what is still due'],
    [listDeliveries, showDelivery, retryDeliveries],
  )
}

const deliveryStates: readonly Delivery['state'][] = ['pending', 'delivered', 'failed']

function listDeliveries(environment: CommandEnvironment): Command {
  const command = environment
    .command('list', 'List the deliveries, newest first')
    .option('--job <id>', 'of this search, import, list or enrichment')
    .addOption(
      new Option('--state <state>', `only these: ${deliveryStates.join(' | ')}`).choices(deliveryStates),
    )
    .option('--limit <n>', `at most so many (default: ${defaultLimit})`, whole)
  guide(command, ['engine deliveries list', 'engine deliveries list --state failed'])
  const columns = ['id', 'event', 'state', 'attempts', 'status', 'error', 'due_at']
  return addAdminAction(
    environment,
    command,
    async (admin, { options }) => {
      const { job, state, limit = defaultLimit } = options as DeliveryFilter
      const filter = { ...(job === undefined ? {} : { jobId: job }), ...(state ? { state } : {}) }
      return (await admin.deliveries(filter, limit)).map(toDeliveryView)
    },
    { columns },
  )
}

interface DeliveryFilter {
  readonly job?: string
  readonly state?: Delivery['state']
  readonly limit?: number
}

function showDelivery(environment: CommandEnvironment): Command {
  const command = environment
    .command('show', 'Show a delivery with its body')
    .argument('<id>', 'id of the delivery, as deliveries list shows it')
  guide(command, ['engine deliveries show msg_2f1f7c7e', 'engine deliveries show msg_2f1f7c7e --fields body'])
  return addAdminAction(environment, command, async (admin, { args: [id = ''] }) => {
    const { body, ...delivery } = await admin.delivery(id)
    return { ...toDeliveryView(delivery), body }
  })
}

function retryDeliveries(environment: CommandEnvironment): Command {
  const command = environment
    .command('retry', 'Make deliveries that have ended due again, from their first attempt on')
    .argument('<id...>', 'ids of deliveries, as deliveries list shows them')
  guide(command, ['engine deliveries retry msg_2f1f7c7e'], 'Next: prospect engine jobs run')
  return addAdminAction(environment, command, async (admin, { args }) => {
    const retried = await admin.retryDeliveries(args)
    if (retried === 0)
      throw new Stop(
        'None of these deliveries has ended.',
        exitCodes.notFound,
        'See: prospect engine deliveries list --state failed',
      )
    return { retried }
  })
}

/** Returns a delivery in the form in which commands print it. */
const toDeliveryView = (delivery: Delivery) => ({
  ...{ id: delivery.id, job_id: delivery.jobId, event: delivery.event, url: delivery.url },
  ...{ first: delivery.first, last: delivery.last, part: delivery.part, parts: delivery.parts },
  ...{ state: delivery.state, attempts: delivery.attempts, status: delivery.status, error: delivery.error },
  due_at: delivery.dueAt === null || delivery.state !== 'pending' ? null : isoTime(delivery.dueAt),
  created_at: isoTime(delivery.createdAt),
  finished_at: delivery.finishedAt === null ? null : isoTime(delivery.finishedAt),
})
