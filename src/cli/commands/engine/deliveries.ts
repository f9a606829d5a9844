import { type Command, Option } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Delivery } from '../../../engine/ports/ports.js'
import { Stop } from '../../context/errors.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { adminAction } from './admin-action.js'

/** `prospect engine deliveries`: what is sent to webhooks. */
export function deliveriesCommand(environment: CommandEnvironment): Command {
  const deliveries = asGroup(
    environment.command('deliveries', 'What was sent to webhooks, and what is still due'),
  )
  for (const part of [listDeliveries, showDelivery, retryDeliveries]) deliveries.addCommand(part(environment))
  return deliveries
}

const states: readonly Delivery['state'][] = ['pending', 'delivered', 'failed']
const usualLimit = 100

function listDeliveries(environment: CommandEnvironment): Command {
  const command = environment
    .command('list', 'List the deliveries, newest first')
    .option('--job <id>', 'of this search, import, list or enrichment')
    .addOption(new Option('--state <state>', `only these: ${states.join(' | ')}`).choices(states))
    .option('--limit <n>', `at most so many (default: ${usualLimit})`, whole)
  guide(command, ['engine deliveries list', 'engine deliveries list --state failed'])
  const columns = ['id', 'event', 'state', 'attempts', 'status', 'error', 'due_at']
  return adminAction(
    environment,
    command,
    async (admin, { options }) => {
      const { job, state, limit = usualLimit } = options as Filter
      const filter = { ...(job === undefined ? {} : { jobId: job }), ...(state ? { state } : {}) }
      return (await admin.deliveries(filter, limit)).map(shown)
    },
    { columns },
  )
}

interface Filter {
  readonly job?: string
  readonly state?: Delivery['state']
  readonly limit?: number
}

function showDelivery(environment: CommandEnvironment): Command {
  const command = environment
    .command('show', 'Show a delivery with its body')
    .argument('<id>', 'id of the delivery, as deliveries list shows it')
  guide(command, ['engine deliveries show msg_2f1f7c7e', 'engine deliveries show msg_2f1f7c7e --fields body'])
  return adminAction(environment, command, async (admin, { args: [id = ''] }) => {
    const { body, ...delivery } = await admin.delivery(id)
    return { ...shown(delivery), body }
  })
}

function retryDeliveries(environment: CommandEnvironment): Command {
  const command = environment
    .command('retry', 'Make deliveries that have ended due again, from their first attempt on')
    .argument('<id...>', 'ids of deliveries, as deliveries list shows them')
  guide(command, ['engine deliveries retry msg_2f1f7c7e'], 'Next: prospect engine jobs run')
  return adminAction(environment, command, async (admin, { args }) => {
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

/** A delivery as results carry it. */
const shown = (delivery: Delivery) => ({
  ...{ id: delivery.id, job_id: delivery.jobId, event: delivery.event, url: delivery.url },
  ...{ first: delivery.first, last: delivery.last, part: delivery.part, parts: delivery.parts },
  ...{ state: delivery.state, attempts: delivery.attempts, status: delivery.status, error: delivery.error },
  due_at: delivery.dueAt === null || delivery.state !== 'pending' ? null : isoTime(delivery.dueAt),
  created_at: isoTime(delivery.createdAt),
  finished_at: delivery.finishedAt === null ? null : isoTime(delivery.finishedAt),
})
