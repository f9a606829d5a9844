import type { Command } from 'commander'
import { printRecords } from '../../output/print-records.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { catalogueOption, withCatalogueOption } from '../../target/catalogue-option.js'
import { kindArgument, kindOf } from './kind-argument.js'

const columns = {
  companies: ['name', 'domain', 'industry', 'headcount', 'country'],
  people: ['full_name', 'title', 'company_domain', 'country'],
  jobs: ['job_title', 'company_domain', 'job_location', 'date_posted'],
  posts: ['post_url', 'author_profile_url', 'published_at'],
} as const

/** `prospect data export`: the records as an import takes them back. */
export function exportCommand(shell: Shell): Command {
  const command = shell
    .command('export', 'Print all records of a kind, oldest first')
    .addArgument(kindArgument())
    .addOption(catalogueOption())
  guide(
    command,
    [
      'data export companies -o companies.csv',
      'data export people --format ndjson | PROSPECT_HOME=other prospect data import people -',
    ],
    'NDJSON loses nothing: data import takes it back as it was.',
  )
  return shell.action(command, async ({ args, options, globals }) => {
    const kind = kindOf(args[0])
    const catalogue = await withCatalogueOption(shell.context, options).catalogue()
    await printRecords(shell.context, () => catalogue.exportRecords(kind), globals, columns[kind])
    return 0
  })
}
