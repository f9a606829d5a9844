import { resolve } from 'node:path'
import { Option } from 'commander'
import { isSecret } from '../../api/webhooks/signature.js'
import type { Streams } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { checkSecret } from '../context/home.js'
import { readStdin, readText } from '../context/io.js'

/** Where the signing secret may come from, as a command's options say. */
export interface SecretChoice {
  readonly secretFile?: string
  readonly secretStdin?: boolean
}

/** The options that say where the signing secret comes from; it is never an argument itself. */
export const secretOptions = (): Option[] => [
  new Option('--secret-file <file>', 'read the signing secret from a file'),
  new Option('--secret-stdin', 'read the signing secret from stdin'),
  new Option('--secret <secret>', 'refused').argParser(refuseSecret).hideHelp(),
]

/**
 * The signing secrets given with a command: from stdin, a file, or PROSPECT_WEBHOOK_SECRET; none where none is given.
 * Several stand apart by white space, as they do while a rotation lasts.
 */
export async function givenSecrets(streams: Streams, choice: SecretChoice): Promise<readonly string[]> {
  if (choice.secretStdin && choice.secretFile !== undefined)
    throw new UsageError('--secret-stdin and --secret-file exclude each other.')
  if (choice.secretStdin) return secretsIn(await readStdin(streams, 64 * 1024), 'stdin')
  if (choice.secretFile !== undefined) {
    checkSecret(resolve(streams.cwd, choice.secretFile))
    return secretsIn(await readText(streams, choice.secretFile, '--secret-file'), choice.secretFile)
  }
  const variable = streams.env.PROSPECT_WEBHOOK_SECRET
  return variable ? secretsIn(variable, 'PROSPECT_WEBHOOK_SECRET') : []
}

/** Where the signing secrets of a command come from, in a word; nothing where none are given. */
export function secretSource({ env }: Streams, choice: SecretChoice): string | undefined {
  if (choice.secretStdin) return 'stdin'
  return choice.secretFile ?? (env.PROSPECT_WEBHOOK_SECRET ? 'PROSPECT_WEBHOOK_SECRET' : undefined)
}

function secretsIn(text: string, source: string): string[] {
  const secrets = (spokenSecret(text) ?? text).split(/\s+/).filter((word) => word !== '')
  if (secrets.length === 0 || !secrets.every(isSecret))
    throw new UsageError(
      `${source} does not hold a signing secret.`,
      'Put the secret alone into it: whsec_ and what follows.',
    )
  return secrets
}

/** The secret in `{"secret": …}`, which is what a command that shows one prints into a pipe. */
function spokenSecret(text: string): string | undefined {
  try {
    const { secret } = JSON.parse(text) as { readonly secret?: unknown }
    return typeof secret === 'string' ? secret : undefined
  } catch {
    return undefined
  }
}

function refuseSecret(): never {
  throw new UsageError(
    'A signing secret is never an argument: other users of this machine could see it, and the shell keeps it.',
    'Use PROSPECT_WEBHOOK_SECRET, --secret-file FILE or --secret-stdin.',
  )
}
