import { foldText } from '../../../catalogue/normalize/name.js'
import { readIndustries } from '../../operation/filter-names.js'
import type { CommandFactory } from '../../options/command-environment.js'

/** `prospect industries`: the industries that are known. */
export const industriesCommand: CommandFactory = ({ group }) =>
  group('industries', 'Industries by name', [findCommand])

const findCommand: CommandFactory = ({ command }) =>
  command('find', 'Find industries by a part of their name')
    .argument('[text]', 'part of the name (default: all industries)')
    .printResult(
      async (context, { args: [text = ''] }) => {
        const found = await readIndustries(context)
        return found.filter(({ name }) => foldText(name).includes(foldText(text)))
      },
      { columns: ['id', 'name', 'companies'] },
    )
