import { resultOr } from '../../api/values/objects.js'
import type { Context, HomeContext, StreamsContext } from '../context/context.js'
import { styledStream } from '../context/io.js'
import { profileOf } from '../context/settings.js'

/** Prints text on stdout, through a pager where it has more lines than the terminal. */
export function printPaged(context: Context, text: string): void {
  const { stdout } = context.streams
  const pager = pagerFor(context, text)
  if (pager === undefined || !isPaged(context, pager, text)) styledStream(stdout).write(text)
}

/** Returns the pager for a text: `PAGER`, else the setting, else `less`; `undefined` where it is printed plainly. */
function pagerFor({ streams, settings }: Context, text: string): string | undefined {
  const { stdout, env } = streams
  const { rows = Number.POSITIVE_INFINITY } = stdout as { readonly rows?: number }
  if (!stdout.isTTY || env.CI || env.TERM === 'dumb' || text.split('\n').length <= rows) return undefined
  const pager = env.PAGER ?? pagerIn(settings) ?? (process.platform === 'win32' ? '' : 'less')
  return ['', 'cat', 'off', 'none'].includes(pager.trim()) ? undefined : pager
}

/** Returns the setting; help is printed where the settings cannot be read, too. */
const pagerIn = (settings: HomeContext['settings']): string | undefined =>
  resultOr(undefined, () => profileOf(settings(), undefined).pager)

/** Commands that the shell of the system does not find end with this status. */
const notFound = [126, 127]

/** Gives text to a pager until it ends. Returns false where the pager cannot be started. */
function isPaged({ streams }: StreamsContext, pager: string, text: string): boolean {
  const { signals, env } = streams
  // Ctrl-C ends a search within less, not this program.
  const ignore = () => {}
  signals?.on('SIGINT', ignore)
  // Loaded only here: it takes a tenth of the start of a command.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { status, error } = spawnSync(pager, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'ignore'],
    env: { LESS: 'FRX', ...env },
  })
  signals?.off('SIGINT', ignore)
  return (error as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT' && !notFound.includes(status ?? 0)
}
