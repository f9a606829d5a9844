import { spawn } from 'node:child_process'

/** How a command at a terminal ended. */
export interface Shown {
  readonly exit: number
  /** What the terminal showed: stdout and stderr, without colours and movements of the cursor. */
  readonly screen: string
  /** The same with colours and movements of the cursor. */
  readonly raw: string
}

/** What is done at a terminal as soon as it shows a text: keys are typed, one after the other. */
export type Typed = readonly (readonly [shown: string, keys: string])[]

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is drawn with
const escapes = /\u001b(?:\[[\d;?]*[A-Za-z]|\][^\u0007]*\u0007)/g

/** Runs words of a shell in a pseudo-terminal of `script` (util-linux). Ctrl-C is the key \u0003. */
export async function inTerminal(
  words: readonly string[],
  {
    cwd,
    env = {},
    columns = 100,
    typed = [],
    timeoutMs = 60_000,
  }: { cwd: string; env?: NodeJS.ProcessEnv; columns?: number; typed?: Typed; timeoutMs?: number },
): Promise<Shown> {
  const quoted = words.map((word) => (word === '|' ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
  const child = spawn('script', ['-qefc', `stty cols ${columns}; ${quoted}`, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, TERM: 'xterm', NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    // A question that nobody answers must not keep the tests waiting.
    timeout: timeoutMs,
  })
  const waiting = [...typed]
  let [raw, from] = ['', 0]
  const shown = () => raw.replaceAll('\r\n', '\n')
  const screen = () => shown().replaceAll(escapes, '')
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    raw += chunk
    const [text = '\0', keys = ''] = waiting[0] ?? []
    const at = screen().indexOf(text, from)
    if (at < 0) return
    waiting.shift()
    from = at + text.length
    child.stdin.write(keys)
  })
  const exit = await new Promise<number>((done) => child.once('close', (code) => done(code ?? -1)))
  return { exit, screen: screen(), raw: shown() }
}
