import { freeValued, type Places, valued } from './places.js'

/** A completion script for PowerShell. */
export function powershellScript(all: Places): string {
  const { places, everywhere } = all
  const words = places.filter((place) => place.words.length > 0)
  const options = places.filter((place) => place.options.length > 0)
  const known = valued(all).flatMap(({ path, choice: { names, values } }) =>
    names.map((name) => entry(path === undefined ? name : `${path}:${name}`, values)),
  )
  return `# PowerShell completion for prospect. For every new shell, in your $PROFILE:
#   prospect completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName prospect -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @{
${words
  .map(({ path, words }) =>
    entry(
      path,
      words.map(({ name }) => name),
    ),
  )
  .join('\n')}
  }
  $options = @{
${options
  .map(({ path, options }) =>
    entry(
      path,
      options.map(({ name }) => name),
    ),
  )
  .join('\n')}
  }
  $values = @{
${known.join('\n')}
  }
  $everywhere = ${list(everywhere.map(({ name }) => name))}
  $free = ${list(freeValued(all))}
  $place = ''
  $prev = ''
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    $prev = $element.ToString()
    if ($words.ContainsKey($place) -and $words[$place] -ccontains $prev) { $place = "$place $prev".Trim() }
  }
  if ($free -ccontains $prev) { return }
  if ($values.ContainsKey("\${place}:$prev")) { $found = $values["\${place}:$prev"] }
  elseif ($values.ContainsKey($prev)) { $found = $values[$prev] }
  elseif ($wordToComplete -like '-*') { $found = @($options[$place]) + $everywhere }
  else { $found = $words[$place] }
  $found | Where-Object { $_ -and $_.StartsWith($wordToComplete) } | ForEach-Object {
    $text = if ($_ -match '\\s') { "'$_'" } else { $_ }
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const list = (words: readonly string[]): string => `@(${words.map(quoted).join(', ')})`
const entry = (name: string, words: readonly string[]): string => `    ${quoted(name)} = ${list(words)}`
