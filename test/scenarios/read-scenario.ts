/** One line of a scenario, with its number for messages. */
export interface Line {
  readonly number: number
  readonly text: string
}

/** A file that stands there before a command runs. */
export interface GivenFile {
  readonly name: string
  readonly content: string
}

/** One thing to do and what must then hold. Steps before the first `command` are expected to succeed. */
export interface Step {
  readonly files: readonly GivenFile[]
  /** The home has what `prospect data sample` loads, which takes seconds, as a copy. */
  readonly hasSample?: true
  readonly command?: Line
  /** A signal to send as soon as a file exists. */
  readonly signal?: { readonly name: NodeJS.Signals; readonly file: string }
  /** Runs the command at a terminal of so many columns, and types keys as soon as it shows a text. */
  readonly terminal?: {
    readonly columns: number
    readonly typed: readonly (readonly [shown: string, keys: string])[]
  }
  readonly expected: readonly Line[]
}

/** A story that a person can read: given, command, expect. */
export interface Scenario {
  readonly title: string
  readonly steps: readonly Step[]
}

interface Block {
  readonly word: string
  readonly lines: Line[]
}

/** Reads a scenario: a title, words about it, then blocks whose lines are indented by two spaces. */
export function readScenario(text: string): Scenario {
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, text: line.trimEnd() }))
  const blocks: Block[] = []
  for (const line of lines) {
    if (/^(given|command|expect)$/.test(line.text)) blocks.push({ word: line.text, lines: [] })
    else if (line.text.startsWith('  ')) blocks.at(-1)?.lines.push(line)
    else if (line.text !== '' && blocks.length > 0)
      throw new Error(`line ${line.number}: what is "${line.text}"?`)
  }
  if (!blocks.some(({ word }) => word === 'command')) throw new Error('a scenario needs a command')
  return { title: lines[0]?.text ?? '', steps: blocks.flatMap(stepsOf) }
}

function stepsOf(block: Block, index: number, blocks: readonly Block[]): Step[] {
  if (block.word === 'given') return givenSteps(block.lines)
  if (block.word === 'expect') return []
  const next = blocks[index + 1]
  const [command, ...rest] = block.lines
  if (!command || next?.word !== 'expect')
    throw new Error(`line ${command?.number}: a command needs an expect block`)
  const signal = rest.map(({ text }) => /^ {2}send (SIG\w+) once (\S+) exists$/.exec(text)).find(Boolean)
  const typed = rest.flatMap(({ text }) => {
    const [, keys, shown = ''] = /^ {2}type (.+) after (.+)$/.exec(text) ?? []
    return keys === undefined ? [] : [[shown, keys === 'Ctrl-C' ? '\u0003' : `${keys}\r`] as const]
  })
  const columns = rest.map(({ text }) => /^ {2}at a terminal of (\d+) columns$/.exec(text)?.[1]).find(Boolean)
  const terminal = typed.length > 0 || columns ? { columns: Number(columns ?? 100), typed } : undefined
  return [
    {
      files: [],
      command,
      ...(terminal ? { terminal } : {}),
      ...(signal ? { signal: { name: signal[1] as NodeJS.Signals, file: signal[2] ?? '' } } : {}),
      expected: next.lines,
    },
  ]
}

function givenSteps(lines: readonly Line[]): Step[] {
  const succeeded = ({ number }: Line): Line[] => [{ number, text: 'exit 0' }]
  return lines
    .map((line, index): Step | undefined => {
      const file = /^ {2}file (\S+)(?: with (\d+) rows of (\S+))?$/.exec(line.text)
      if (!file && line.text.startsWith('    ')) return undefined
      if (/^ {2}prospect (init --sample|data sample)$/.test(line.text))
        return { files: [], hasSample: true, expected: [] }
      if (!file) return { files: [], command: line, expected: succeeded(line) }
      const [, name = '', count, pattern] = file
      const content = pattern ? generated(Number(count), pattern) : indented(lines.slice(index + 1))
      return { files: [{ name, content }], expected: [] }
    })
    .filter((step) => step !== undefined)
}

/** The lines below `file NAME` that are indented further. */
function indented(lines: readonly Line[]): string {
  const end = lines.findIndex(({ text }) => !text.startsWith('    '))
  const own = end < 0 ? lines : lines.slice(0, end)
  return own.map(({ text }) => `${text.slice(4)}\n`).join('')
}

/** A CSV of one column, `domain`, whose values follow a pattern with the number of the row as `{n}`. */
function generated(count: number, pattern: string): string {
  const rows = Array.from({ length: count }, (_, row) => pattern.replace('{n}', String(row + 1)))
  return `domain\n${rows.join('\n')}\n`
}
