import { type Command, Option } from 'commander'
import type { AsyncJob, JobState } from '../../../engine/ports/ports.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { printRecords } from '../../output/print-records.js'
import { namesOf } from '../../target/resolve-target.js'
import { columnsOfKind, recordsOf } from '../../wait/job-result.js'
import { adminAction, ownersAdmin } from './admin-action.js'

/** `prospect engine jobs`: imports, waterfalls and list imports that were accepted. */
export function jobsCommand(environment: CommandEnvironment): Command {
  const jobs = asGroup(environment.command('jobs', 'Accepted work: imports, waterfalls, list imports'))
  for (const part of [listJobs, showJob, retryJob, runJobs]) jobs.addCommand(part(environment))
  return jobs
}

const states: readonly JobState[] = ['queued', 'running', 'finished', 'failed']
const usualLimit = 100

function listJobs(environment: CommandEnvironment): Command {
  const command = environment
    .command('list', 'List the jobs, newest first')
    .addOption(new Option('--state <state>', `only these: ${states.join(' | ')}`).choices(states))
    .option('--limit <n>', `at most so many (default: ${usualLimit})`, whole)
  guide(command, ['engine jobs list', 'engine jobs list --state failed --json'])
  const columns = ['id', 'operation', 'name', 'state', 'done', 'expected', 'created_at']
  return adminAction(
    environment,
    command,
    async (admin, { options }) => {
      const { state, limit = usualLimit } = options as { state?: JobState; limit?: number }
      return (await admin.jobs(limit, state)).map(shown)
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
    const admin = await ownersAdmin(environment.context, globals)
    const job = await admin.job(id)
    if (options.records === true)
      await printRecords(environment.context, () => recordsOf(admin, job), globals, columnsOfKind(job.kind))
    else await environment.print({ ...shown(job), webhook_url: job.webhookUrl, custom: job.custom }, globals)
    return 0
  })
}

function retryJob(environment: CommandEnvironment): Command {
  const command = environment
    .command('retry', 'Queue the work of a failed job again, as a new job')
    .argument('<id>', 'id of the job, as jobs list shows it')
  guide(command, ['engine jobs retry 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'], 'Next: prospect engine jobs run')
  return adminAction(environment, command, async (admin, { args: [id = ''] }) =>
    shown(await admin.retryJob(id)),
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

/** A job as results carry it. */
const shown = (job: AsyncJob) => ({
  ...{ id: job.id, operation: job.operation, kind: job.kind, name: job.name, state: job.state },
  ...{ done: job.done, expected: job.expected, truncated: job.truncated },
  ...{ credits: job.spent, held: job.held, attempts: job.attempts, error: job.error },
  created_at: isoTime(job.createdAt),
  finished_at: job.finishedAt === null ? null : isoTime(job.finishedAt),
})
