import { ApiError } from '../../api/calls/errors.js'
import { operation } from '../../api/operations/table.js'
import { blurCompany } from '../records/blur.js'
import type { HandlersOf } from './handler.js'
import {
  filtersOf,
  previewCompanies,
  previewPeople,
  previewSize,
  searchFor,
  startImport,
  startPaidImport,
} from './imports.js'

/** Handlers of the area `intents`. */
export const intents: HandlersOf<'intents'> = {
  /** `POST /intents/accounts/stack/preview`: an exact count, and companies that cannot be recognised. */
  'intents.stack_preview': async ({ input, now, source }) => {
    const search = searchFor('stack', input)
    const total_count = await source.count(search, now)
    const { records } =
      total_count === 0 ? { records: [] } : await source.find(search, { limit: previewSize, now })
    const preview = records.map(({ account, technologies_found }) => blurCompany(account, technologies_found))
    return { output: { total_count, preview } }
  },
  /** `POST /intents/accounts/stack`: each company is paid for. */
  'intents.stack': async (context) => {
    const search = searchFor('stack', filtersOf(context.input))
    const {
      total,
      reply: { message, ...id },
      ...work
    } = await startPaidImport(context, search, 'Tech stack')
    return { output: { ...id, total_count: total, message }, ...work }
  },
  /** `POST /intents/accounts/hiring`: each company is paid for. */
  'intents.hiring': async (context) => {
    const search = searchFor('hiring', filtersOf(context.input))
    const {
      total,
      reply: { message, ...id },
      ...work
    } = await startPaidImport(context, search, 'Hiring')
    return { output: { ...id, preview_count: total, message }, ...work }
  },
  /** `POST /intents/accounts/growth`: growing companies. */
  'intents.growth': async (context) => {
    const search = searchFor('growth', filtersOf(context.input))
    return startImport(context, search, 'Growth', await previewCompanies(context, search))
  },
  /** `POST /intents/accounts/lookalikes`: similar companies, the most similar first. */
  'intents.lookalikes': async (context) => {
    const search = searchFor('lookalikes', filtersOf(context.input))
    return startImport(context, search, 'Lookalikes', await previewCompanies(context, search))
  },
  /** `POST /intents/leads/posts_engagers`: people who reacted to a post or commented on it. */
  'intents.post_engagers': async (context) => {
    const search = searchFor('engagers', filtersOf(context.input))
    return startImport(context, search, 'Post engagers', await previewPeople(context, search))
  },
  /** `POST /intents/leads/track_job_changes`: refused, because lists of leads do not exist. */
  'intents.track_job_changes': () => {
    throw new ApiError('invalid', { reason: operation('intents.track_job_changes').unavailable ?? '' })
  },
}
