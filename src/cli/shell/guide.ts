import type { Command } from 'commander'

/** Ends a command's help with examples, written without the leading `prospect`, and with what to do next. */
export function guide(command: Command, examples: readonly string[], next = ''): Command {
  const lines = examples.map((example) => `  $ prospect ${example}`)
  const after = next === '' ? '' : `\n\n${next}`
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}${after}`)
}
