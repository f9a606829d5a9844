import type { Input } from '../../../api/calls/caller.js'
import { flagOf } from '../../../api/operations/aliases.js'
import { industries, namedFields } from '../../../api/schemas/enumerations.js'
import { nearest } from '../../../api/values/nearest.js'
import { foldText } from '../../../catalogue/normalize/name.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import type { CommandFactory } from '../../options/command-environment.js'

/** `prospect industries`: the industries that are known. */
export const industriesCommand: CommandFactory = ({ group }) =>
  group('industries', 'Industries by name', [findCommand])

const findCommand: CommandFactory = ({ command }) =>
  command('find', 'Find industries by a part of their name')
    .argument('[text]', 'a part of the name; all of them without it')
    .printResult(
      async (context, { args: [text = ''], globals }) => {
        const found = await knownIndustries(context, globals)
        return found.filter(({ name }) => foldText(name).includes(foldText(text)))
      },
      { columns: ['id', 'name', 'companies'] },
    )

/** An industry that a filter can name. */
interface Industry {
  readonly id: string | null
  readonly name: string
  /** Companies of the local catalogue. */
  readonly companies: number
}

/** Returns the industries whose ids are known, and with a local target those of its catalogue. */
async function knownIndustries(context: Context, globals: GlobalOptions): Promise<Industry[]> {
  const stored = context.isLocal(globals) ? await (await context.catalogue()).industries() : []
  const counts = new Map(stored.map(({ id, name, companies }) => [id ?? name, companies]))
  const known = Object.entries(industries).map(([id, name]) => ({ id, name, companies: counts.get(id) ?? 0 }))
  const others = stored.flatMap(({ id, name, companies }) =>
    name === null || (id !== null && Object.hasOwn(industries, id)) ? [] : [{ id, name, companies }],
  )
  return [...known, ...others]
}

/** Throws UsageError for the name of an industry that the target cannot know. Ids pass. */
export async function checkIndustries(context: Context, input: Input, globals: GlobalOptions): Promise<void> {
  let known: Industry[] | undefined
  for (const [field, value] of Object.entries(input)) {
    if (!namedFields[field]?.isOpen || !Array.isArray(value)) continue
    for (const name of value.map(String).filter((one) => !/^\d+$/.test(one))) {
      known ??= await knownIndustries(context, globals)
      const names = known.map((industry) => industry.name)
      if (names.some((one) => foldText(one) === foldText(name))) continue
      const meant = nearest(name, names) ?? names.find((one) => foldText(one).includes(foldText(name)))
      throw new UsageError(
        `--${flagOf(field)}: no industry is called "${name}".`,
        `${meant ? `Did you mean "${meant}"? ` : ''}See: prospect industries find, or give the id of the industry.`,
      )
    }
  }
}
