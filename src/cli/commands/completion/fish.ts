import type { Choice, Places } from './places.js'

/** A completion script for fish. */
export function fishScript({ places, everywhere }: Places): string {
  const steps = places.flatMap(({ path, words }) => words.map(({ name }) => quoted(`${path}/${name}`)))
  const at = (path: string) => `-n ${quoted(`__prospect_at ${quoted(path)}`)}`
  const rules = places.flatMap(({ path, words, options }) => [
    ...words.map(
      ({ name, summary }) => `complete -c prospect ${at(path)} -f -a ${quoted(name)}${about(summary)}`,
    ),
    ...options.map((option) => `complete -c prospect ${at(path)} ${optionRule(option)}`),
  ])
  return `# fish completion for prospect. For every new shell:
#   prospect completion fish > ~/.config/fish/completions/prospect.fish
function __prospect_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    switch "$place/$word"
      case ${steps.join(' ')}
        set place (string trim -- "$place $word")
    end
  end
  test "$place" = "$argv[1]"
end
${everywhere.map((option) => `complete -c prospect ${optionRule(option)}`).join('\n')}
${rules.join('\n')}
`
}

function optionRule({ names, takesValue, values, summary }: Choice): string {
  const spellings = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  )
  const value =
    values.length > 0 ? ` -x -a ${quoted(values.map(escaped).join(' '))}` : takesValue ? ' -r' : ''
  return `${spellings.join(' ')}${value}${about(summary)}`
}

const about = (summary: string): string => (summary === '' ? '' : ` -d ${quoted(summary)}`)
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const escaped = (value: string): string => value.replace(/[^\w.,+-]/g, '\\$&')
