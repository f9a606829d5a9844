import type { Stats } from '../../../catalogue/lookup/stats.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { printRecords } from '../../output/print-records.js'
import { copyCommand } from './copy.js'
import { forgetCommand } from './forget.js'
import { importCommand, kindArgument, parseKind } from './import.js'
import { purgeCommand } from './purge.js'
import { sampleCommand } from './sample.js'

/** `prospect data`: the companies, people, jobs and posts that the local engine answers from. */
export const dataCommand: CommandFactory = ({ group }) =>
  group('data', 'The local catalogue: import, sample, stats, export, copy, forget, purge', [
    importCommand,
    sampleCommand,
    statsCommand,
    exportCommand,
    copyCommand,
    forgetCommand,
    purgeCommand,
  ])

/** `prospect data stats`: how many records of each kind there are. */
export const statsCommand: CommandFactory = ({ command }) =>
  command('stats', 'Count the records of each kind')
    .addOption(catalogueOption())
    .printResult((context, { options }) => readStats(withCatalogueOption(context, options)))

/** Counts the records. It does not create a missing shared catalogue, which may need more rights than reading one. */
async function readStats({ home, catalogue }: Context): Promise<Stats> {
  const { findSharedCatalogue, isShared } = await import('../../../storage/database/open.js')
  if (isShared(home)) {
    const found = await findSharedCatalogue(home.engine)
    if (!found) return nothing
    await found.close()
  }
  return (await catalogue()).stats()
}

const nothing: Stats = { companies: 0, people: 0, jobs: 0, technologies: 0, posts: 0 }

const columns = {
  companies: ['name', 'domain', 'industry', 'headcount', 'country'],
  people: ['full_name', 'title', 'company_domain', 'country'],
  jobs: ['job_title', 'company_domain', 'job_location', 'date_posted'],
  posts: ['post_url', 'author_profile_url', 'published_at'],
} as const

/** `prospect data export`: the records as an import takes them back. */
export const exportCommand: CommandFactory = ({ command }) =>
  command('export', 'Print all records of a kind, oldest first')
    .addArgument(kindArgument())
    .addLayout()
    .addOption(catalogueOption())
    .run(async (context, { args, options }) => {
      const kind = parseKind(args[0])
      const catalogue = await withCatalogueOption(context, options).catalogue()
      await printRecords(context, () => catalogue.exportRecords(kind), {
        columns: columns[kind],
        isStream: true,
      })
    })
