import { freeValued, type Places, valued, type Word } from './places.js'

/** A completion script for zsh. */
export function zshScript(all: Places): string {
  const { places, everywhere } = all
  const steps = places.flatMap(({ path, words }) => words.map(({ name }) => quoted(`${path}/${name}`)))
  const known = valued(all).map(({ path, choice: { names, values } }) => {
    const patterns = names.map((name) => (path === undefined ? `*:${name}` : quoted(`${path}:${name}`)))
    return `    (${patterns.join('|')}) compadd -- ${values.map(quoted).join(' ')}; return ;;`
  })
  const branch = ({ path }: { readonly path: string }, list: readonly Word[]) =>
    `      (${quoted(path)}) list+=(${described(list)}) ;;`
  const options = places
    .filter((place) => place.options.length > 0)
    .map((place) => branch(place, place.options))
  const words = places.filter((place) => place.words.length > 0).map((place) => branch(place, place.words))
  return `#compdef prospect
# zsh completion for prospect. For every new shell, after compinit: source <(prospect completion zsh)
_prospect() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}" place='' i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    case "$place/\${words[i]}" in
      (${steps.join('|')})
        place="\${place:+$place }\${words[i]}" ;;
    esac
  done
  case "$prev" in
    (${freeValued(all).join('|')}) _files; return ;;
  esac
  case "$place:$prev" in
${known.join('\n')}
  esac
  if [[ $cur == -* ]]; then
    list=(${described(everywhere)})
    case "$place" in
${options.join('\n')}
    esac
    _describe -o option list
  else
    case "$place" in
${words.join('\n')}
    esac
    if (( \${#list} )); then _describe command list; else _files; fi
  fi
}
if [[ "\${funcstack[1]}" == _prospect ]]; then _prospect "$@"; else compdef _prospect prospect; fi
`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const described = (words: readonly Word[]): string =>
  words
    .map(({ name, summary }) => quoted(`${name.replaceAll(':', '\\:')}${summary && `:${summary}`}`))
    .join(' ')
