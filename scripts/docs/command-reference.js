/** The command reference as Markdown, made from the command map that `prospect commands --json` prints. */

const ofTarget = 'Target and key'

/** All commands by area, each with its price, limits, arguments and options; options of many commands come once. */
export function commandReference(map) {
  const areas = grouped(map)
  const { options } = map[0]
  const shared = options.filter((option) => map.every((command) => hasOption(command.options, option)))
  const target = options.filter(({ group }) => group === ofTarget)
  const ofFiles = optionsOfFiles(map)
  return [
    ...[...areas].map(([area, commands]) => section(area, commands, { shared, ofFiles, target })),
    `## Options for files of rows\n\n${optionTable(ofFiles)}`,
    `## Options that choose a target\n\n${optionTable(target)}`,
    `## Options of every command\n\n${optionTable(shared)}`,
  ].join('\n\n')
}

/** The options that every lookup with `--csv` has. */
function optionsOfFiles(map) {
  const lookups = map.filter(({ method, options }) => method && options.some(isOfFiles))
  return lookups[0].options.filter(
    (option) => option.group === 'Many rows' && lookups.every(({ options }) => hasOption(options, option)),
  )
}

const isOfFiles = ({ flags }) => flags === '--fresh'
const hasOption = (options, { flags, description }) =>
  options.some((option) => option.flags === flags && option.description === description)

const areaOf = ({ command }) => command.split(' ')[0]

function grouped(map) {
  const areas = new Map()
  for (const command of map) areas.set(areaOf(command), [...(areas.get(areaOf(command)) ?? []), command])
  return areas
}

const section = (area, commands, tables) =>
  [`## ${area}`, ...commands.map((command) => entry(command, tables))].join('\n\n')

function entry(
  { command, flag, summary, note, arguments: words, options, method, path, price, limits },
  { shared, ofFiles, target },
) {
  const [takesFiles, asksTarget] = [ofFiles, target].map((table) =>
    table.every((option) => hasOption(options, option)),
  )
  const inTables = [...shared, ...(takesFiles ? ofFiles : []), ...(asksTarget ? target : [])]
  const own = options.filter((option) => !hasOption(inTables, option))
  const parts = [
    `### \`prospect ${[command, flag].filter(Boolean).join(' ')}\``,
    `${summary.replace(/\.$/, '')}.${note ? ` *${note}*` : ''}`,
    method && `\`${method} ${path}\`. Price: ${price} Limits: ${limits}`,
    words.length > 0 && words.map(argument).join('\n'),
    own.length > 0 && optionTable(own),
    takesFiles && 'With `--csv FILE`, also the [options for files of rows](#options-for-files-of-rows).',
    !method && asksTarget && 'Also the [options that choose a target](#options-that-choose-a-target).',
  ]
  return parts.filter(Boolean).join('\n\n')
}

const argument = ({ name, required, description }) =>
  `- \`${name.toUpperCase()}\`${required ? '' : ' (optional)'}${description ? `: ${description}` : ''}`

const optionTable = (options) =>
  [
    '| Option | Meaning |',
    '| --- | --- |',
    ...options.map(({ flags, description }) => row(flags, description)),
  ].join('\n')

const row = (flags, description) => `| \`${cell(flags)}\` | ${cell(description).replaceAll('<', '&lt;')} |`
const cell = (text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
