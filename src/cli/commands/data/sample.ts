import { dayMs } from '../../../api/values/dates.js'
import { kinds, type RecordKind } from '../../../catalogue/kinds/kind.js'
import type { Context } from '../../context/context.js'
import { ensureWorkspace } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { catalogueOption, optionRows, withCatalogueOption } from '../../options/values.js'
import { print } from '../../output/print.js'
import { countRecords, warnOfNewLookups } from './import.js'

export const sampleCommand: CommandFactory = ({ command }) =>
  command('sample', 'Load invented companies, people, jobs and posts, or remove them')
    .withOptions(sampleOptions)
    .run(async (outer, { options }) => {
      const context = withCatalogueOption(outer, options)
      if (options.remove) return removeSample(context)
      const added = await addSample(context)
      await print(context, added, { layout: () => `Loaded ${listRecords(added)}.\n` })
      await warnOfNewLookups(context)
    })

const sampleOptions = optionRows({
  remove: ['', 'remove them again; records that your own data is about stay, with what it says'],
  ...catalogueOption,
})

/** Loads the sample into the catalogue; its newest dates are of today. Returns the number of its records, by kind. */
export async function addSample(context: Context): Promise<Record<RecordKind, number>> {
  const { loadSample } = await import('../../../catalogue/sample/sample.js')
  const catalogue = await context.catalogue()
  context.notify('Loading sample data…')
  const reports = await loadSample(catalogue, Math.floor(context.clock.now() / dayMs) * dayMs)
  await ensureWorkspace(context)
  const added = { ...none }
  for (const kind of kinds) added[kind] = reports[kind].added + reports[kind].updated
  return added
}

const listRecords = (counts: Readonly<Record<RecordKind, number>>): string =>
  kinds
    .filter((kind) => counts[kind] > 0)
    .map((kind) => countRecords(kind, counts[kind]))
    .join(', ')

const none = { companies: 0, people: 0, jobs: 0, posts: 0 }

async function removeSample(context: Context): Promise<void> {
  const { hasCatalogue } = await import('../../target/local-target.js')
  const isThere = await hasCatalogue(context.home)
  const { removed, kept } = isThere
    ? await (await context.catalogue()).removeSample()
    : { removed: none, kept: none }
  const [gone, stays] = [listRecords(removed), listRecords(kept)]
  const text =
    gone === '' && stays === ''
      ? 'There is no sample data.'
      : `Removed ${gone || 'nothing'}.${stays && ` Kept with what your own data says: ${stays}.`}`
  await print(context, { removed, kept }, { layout: () => `${text}\n` })
  if (gone !== '' || stays !== '') await warnOfNewLookups(context)
}
