import type { Command } from 'commander'
import type { Stats } from '../../../catalogue/lookup/stats.js'
import type { HomeContext, TargetContext } from '../../context/context.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { catalogueOption, withCatalogueOption } from '../../target/catalogue-option.js'

/** `prospect data stats`: how many records of each kind there are. */
export function statsCommand(shell: Shell): Command {
  const command = shell.command('stats', 'Count the records of each kind').addOption(catalogueOption())
  guide(
    command,
    ['data stats', 'data stats --database postgres://prospect@db.example/prospect'],
    'Nothing there yet? prospect data sample',
  )
  return shell.action(command, async ({ options, globals }) => {
    await shell.print(await statsOf(withCatalogueOption(shell.context, options)), globals)
    return 0
  })
}

/** A shared catalogue that nobody has made yet stays so: who only counts may not have the right to make it. */
async function statsOf({ home, catalogue }: HomeContext & TargetContext): Promise<Stats> {
  const { findSharedCatalogue, isShared } = await import('../../../storage/database/catalogue-location.js')
  if (isShared(home)) {
    const found = await findSharedCatalogue(home.engine)
    if (!found) return nothing
    await found.close()
  }
  return await (await catalogue()).stats()
}

const nothing: Stats = { companies: 0, people: 0, jobs: 0, technologies: 0, posts: 0 }
