import { resolve } from 'node:path'
import { Refusal } from '../../api/calls/errors.js'
import type { Context } from '../context/context.js'
import { keyIn } from '../context/credentials.js'
import { checkSecret } from '../context/home.js'
import { readStdin, readText } from '../context/io.js'
import { askSecret } from '../output/prompt.js'
import type { optionRows } from './values.js'

/** Where the key of a data vendor or a CRM is read from. */
export const keyOptions = {
  keyFile: ['<file>', 'read the key from a file'],
  keyStdin: ['', 'read the key from stdin'],
} as const satisfies Parameters<typeof optionRows>[0]

type KeyChoice = { readonly keyFile?: string | undefined; readonly keyStdin?: boolean | undefined }

/** Reads a key: from a file, stdin or a person, never from an argument. Throws `missing` where there is none. */
export async function readKey(
  context: Context,
  whose: string,
  { keyFile, keyStdin }: KeyChoice,
  missing: Refusal,
): Promise<string> {
  const { streams } = context
  if (keyFile !== undefined && keyStdin) throw new Refusal('usage.key_file_or_stdin')
  if (keyFile !== undefined) checkSecret(resolve(streams.cwd, keyFile))
  const text = keyStdin
    ? await readStdin(streams, 64 * 1024)
    : keyFile !== undefined
      ? await readText(streams, resolve(streams.cwd, keyFile), '--key-file')
      : await askSecret(context, `API key for ${whose}`, keyIn)
  if (text === undefined) throw missing
  const key = keyIn(text, keyStdin ? 'stdin' : keyFile)
  context.conceal(key)
  return key
}
