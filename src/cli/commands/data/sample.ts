import { withoutUndefined } from '../../../api/values/objects.js'
import type { Context } from '../../context/context.js'
import { ensureWorkspace } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { whole } from '../../options/values.js'
import { formatNumber } from '../../output/text.js'

/** `prospect data sample`: an invented market to try everything on. */
export const sampleCommand: CommandFactory = ({ command }) =>
  command('sample', 'Load invented companies, people, jobs and posts')
    .withOptions(size)
    .withOptions(catalogueOption)
    .printResult(
      async (context, { options }) => {
        const { companies, people, seed } = options
        return addSample(withCatalogueOption(context, options), withoutUndefined({ companies, people, seed }))
      },
      { layout: formatSummary },
    )

const size = optionRows({
  companies: ['<n>', 'how many companies, in addition to a few fixed ones (default: 500)', whole],
  people: ['<n>', 'how many people (default: 5,000)', whole],
  seed: ['<n>', 'a different number makes different data (default: 1)', whole],
})

const dayMs = 86_400_000

/** Loads a sample into the catalogue; its newest dates are of today. Returns the number of its records, by kind. */
export async function addSample(context: Context, asked: OptionsOf<typeof size>): Promise<object> {
  const { loadSample } = await import('../../../catalogue/sample/sample.js')
  const catalogue = await context.catalogue()
  context.notify('Loading sample data…')
  const now = Math.floor(context.clock.now() / dayMs) * dayMs
  const reports = await loadSample(catalogue, { ...asked, now })
  await ensureWorkspace(context)
  const kinds = ['companies', 'people', 'jobs', 'posts'] as const
  return Object.fromEntries(kinds.map((kind) => [kind, reports[kind].added + reports[kind].updated]))
}

const formatSummary = (added: unknown): string =>
  `Loaded ${Object.entries(added as Readonly<Record<string, number>>)
    .map(([kind, count]) => `${formatNumber(count)} ${kind}`)
    .join(', ')}.\n`
