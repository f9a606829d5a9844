import { createRequire } from 'node:module'
import { UsageError } from '../context/errors.js'

/** jq, compiled to WebAssembly. */
interface Jq {
  /** Throws an error with an exit code: 3 where the expression is none, 5 where it fails. */
  raw(json: string, filter: string, flags: readonly string[]): string | undefined
}

/** Loads jq: few commands need it, and it is large. The package is a promise, which `import` cannot hand over. */
const loadJq = (): Promise<Jq> => createRequire(import.meta.url)('jq-web') as Promise<Jq>

/** Throws UsageError for an expression that jq does not understand. Runs nothing of it. */
export async function checkJq(expression: string): Promise<void> {
  const jq = await loadJq()
  try {
    jq.raw('null', `empty | (\n${expression}\n)`, ['--'])
  } catch {
    // What does not compile does not run, either, and fails with a better message.
    await filterJson('null', expression, false)
  }
}

/** Returns what an expression makes of JSON, as `gh --jq` prints it: texts without quotes, a line for each result. */
export async function filterJson(json: string, expression: string, pretty: boolean): Promise<string> {
  const jq = await loadJq()
  try {
    // It returns the lines without the end of the last one.
    const lines = jq.raw(json, expression, ['-r', ...(pretty ? [] : ['-c']), '--'])
    return lines === undefined ? '' : `${lines}\n`
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    const said = (stderr || message).replace(/^Non-zero exit code: \d+\n/, '').split('\n')[0] ?? ''
    const problem = said
      .replace(/^jq: error:? ?/, '')
      .replace(/ \(Unix shell quoting issues\?\)|\(at \w*:\d+\): | at <top-level>.*$/g, '')
    throw new UsageError(`--jq: ${problem}.`, 'The language is described at https://jqlang.org/manual.')
  }
}
