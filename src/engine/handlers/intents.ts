import type { Search } from '../ports/ports.js'
import { blurCompany } from '../records/blur.js'
import { previewCompanies } from './account-imports.js'
import type { Handler, Work } from './handler.js'
import {
  type Asked,
  filtersOf,
  importOf,
  nameOf,
  nothingFound,
  previewSize,
  searchFor,
  startedMessage,
} from './imports.js'
import { previewPeople } from './lead-imports.js'

/** `POST /intents/accounts/stack/preview`: an exact count, and companies that cannot be recognised. */
export const stackPreview: Handler<'intents.stack_preview'> = async ({ input, now, source }) => {
  const search = searchFor('stack', input)
  const total_count = await source.count(search, now)
  const { records } =
    total_count === 0 ? { records: [] } : await source.find(search, { limit: previewSize, now })
  const preview = records.map(({ account, technologies_found }) => blurCompany(account, technologies_found))
  return { output: { total_count, preview } }
}

/** `POST /intents/accounts/stack`: each company is paid for. */
export const stack: Handler<'intents.stack'> = async ({ input, now, source, ids }) => {
  const search = searchFor('stack', filtersOf(input))
  const total = await source.count(search, now)
  if (total === 0) return { output: { total_count: 0, message: nothingFound } }
  const job = importOf(ids.uuid(), nameOf(input, 'Tech stack', now), search, input, total)
  return {
    output: { id: job.id, total_count: total, message: startedMessage },
    job: { ...job, reserve: { company: job.expected } },
  }
}

/** `POST /intents/accounts/hiring`: each company is paid for. */
export const hiring: Handler<'intents.hiring'> = async ({ input, now, source, ids }) => {
  const search = searchFor('hiring', filtersOf(input))
  const total = await source.count(search, now)
  if (total === 0) return { output: { preview_count: 0, message: nothingFound } }
  const job = importOf(ids.uuid(), nameOf(input, 'Hiring', now), search, input, total)
  return {
    output: { id: job.id, preview_count: total, message: startedMessage },
    job: { ...job, reserve: { company: job.expected } },
  }
}

/** `POST /intents/accounts/growth`: growing companies. */
export const growth: Handler<'intents.growth'> = (work) =>
  companies(work, work.input, searchFor('growth', filtersOf(work.input)), 'Growth')

/** `POST /intents/accounts/lookalikes`: similar companies, the most similar first. */
export const lookalikes: Handler<'intents.lookalikes'> = (work) =>
  companies(work, work.input, searchFor('lookalikes', filtersOf(work.input)), 'Lookalikes')

async function companies(
  { now, source, ids }: Pick<Work<'intents.growth'>, 'now' | 'source' | 'ids'>,
  input: Asked,
  search: Search<'growth' | 'lookalikes'>,
  what: string,
) {
  const { total, preview } = await previewCompanies(source, search, now)
  const id = ids.uuid()
  return {
    output: { message: startedMessage, id, total, preview },
    job: importOf(id, nameOf(input, what, now), search, input, total),
  }
}

/** `POST /intents/leads/posts_engagers`: people who reacted to a post or commented on it. */
export const postEngagers: Handler<'intents.post_engagers'> = async ({ input, now, source, ids }) => {
  const { total, preview, search } = await previewPeople(source, searchFor('engagers', filtersOf(input)), now)
  const id = ids.uuid()
  return {
    output: { message: startedMessage, id, total, preview },
    job: importOf(id, nameOf(input, 'Post engagers', now), search, input, total),
  }
}
