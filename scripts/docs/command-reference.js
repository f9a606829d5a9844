/** The command reference as Markdown, made from the command map that `prospect commands --json` prints. */

const everywhere = ['Output', 'Target and key', 'Other']

/** All commands by area, each with its price, limits, arguments and options; options of all commands come once. */
export function commandReference(map) {
  const areas = grouped(map)
  const shared = map[0].options.filter(isShared)
  return [...[...areas].map(([area, commands]) => section(area, commands)), sharedSection(shared)].join(
    '\n\n',
  )
}

const areaOf = ({ command }) => command.split(' ')[0]
const isShared = ({ group }) => everywhere.includes(group)

function grouped(map) {
  const areas = new Map()
  for (const command of map) areas.set(areaOf(command), [...(areas.get(areaOf(command)) ?? []), command])
  return areas
}

const section = (area, commands) => [`## ${area}`, ...commands.map(entry)].join('\n\n')

function entry({ command, flag, summary, note, arguments: words, options, method, path, price, limits }) {
  const own = options.filter((option) => !isShared(option))
  const parts = [
    `### \`prospect ${[command, flag].filter(Boolean).join(' ')}\``,
    `${summary.replace(/\.$/, '')}.${note ? ` *${note}*` : ''}`,
    method && `\`${method} ${path}\`. Price: ${price} Limits: ${limits}`,
    words.length > 0 && words.map(argument).join('\n'),
    own.length > 0 && optionTable(own),
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

const sharedSection = (options) => `## Options of every command\n\n${optionTable(options)}`
