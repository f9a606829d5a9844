import { freeValued, type Places, valued } from './places.js'

/** A completion script for bash. */
export function bashScript(all: Places): string {
  const { places, everywhere } = all
  const steps = places.flatMap(({ path, words }) => words.map(({ name }) => quoted(`${path}/${name}`)))
  const known = valued(all).map(({ path, choice: { names, values } }) => {
    const patterns = names.map((name) => (path === undefined ? `*:${name}` : quoted(`${path}:${name}`)))
    return `    ${patterns.join('|')}) list=${lines(values)} ;;`
  })
  const options = places
    .filter((place) => place.options.length > 0)
    .map(
      ({ path, options }) =>
        `      ${quoted(path)}) list+=$'\\n'${lines(options.map(({ name }) => name))} ;;`,
    )
  const words = places
    .filter((place) => place.words.length > 0)
    .map(({ path, words }) => `      ${quoted(path)}) list=${lines(words.map(({ name }) => name))} ;;`)
  return `# bash completion for prospect. For every new shell: source <(prospect completion bash)
_prospect() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" place='' list='' word i
  if [[ $cur == '=' ]]; then cur=''
  elif [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place/\${COMP_WORDS[i]}" in
      ${steps.join('|')})
        place="\${place:+$place }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$prev" in
    ${freeValued(all).join('|')}) return ;;
  esac
  case "$place:$prev" in
${known.join('\n')}
  esac
  if [[ -z $list && $cur == -* ]]; then
    list=${lines(everywhere.map(({ name }) => name))}
    case "$place" in
${options.join('\n')}
    esac
  elif [[ -z $list ]]; then
    case "$place" in
${words.join('\n')}
    esac
  fi
  while IFS= read -r word; do
    if [[ -n $word && $word == "$cur"* ]]; then
      printf -v word %q "$word"
      COMPREPLY+=("$word")
    fi
  done <<< "$list"
}
complete -o default -F _prospect prospect
`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const lines = (words: readonly string[]): string => quoted(words.join('\n'))
