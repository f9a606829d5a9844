import type { Progress, Step } from '../../runs/output/report.js'
import type { Context, StreamsContext } from '../context/context.js'
import { drawingStream } from '../context/io.js'
import {
  countRows,
  cutEnd,
  drawable,
  duration,
  formatCredits,
  formatNumber,
  formatReused,
  isAscii,
  type Look,
  oneLine,
} from './text.js'
import { widthOf } from './width.js'

/** A text and its rank: where a line has no room for all, those of a low rank come first. */
type ProgressPart = readonly [text: string, rank: number]

/** Returns the text of a step, or its parts; `elapsedMs` is the time that its rows have taken, with the current wait. */
type TextOf = (step: Step, elapsedMs: number, now: number) => string | readonly ProgressPart[]

/** The interval of lines where there is no cursor, in milliseconds. */
const lineEveryMs = 10_000

const silent: Progress = { update: () => {}, stop: () => {} }

export function canDraw({ stderr, env }: StreamsContext['streams']): boolean {
  // Some terminals do not know their width; a spinner cannot tell then how many lines it has to clear.
  return stderr.isTTY === true && (stderr.columns ?? 0) > 0 && env.TERM !== 'dumb' && !env.CI
}

/** Starts a display: a spinner on a terminal, a line every 10 s where there is no cursor, nothing with `--quiet`. */
export async function startProgress(context: Context, textOf: TextOf = progressParts): Promise<Progress> {
  const { log } = context
  if (log?.progress) {
    const update = ({ rows, found = 0, credits = 0, total }: Step) =>
      log.progress?.({ rows, found, credits, total })
    return { update, stop: () => {} }
  }
  if (context.globals.quiet) return silent
  const { clock, streams } = context
  const elapsed = stopwatch(clock.now())
  const parts = (step: Step): readonly ProgressPart[] => {
    const text = textOf(step, elapsed(step, clock.now()), clock.now())
    return typeof text === 'string' ? [[text, 0]] : text
  }
  return canDraw(streams) ? spinner(context, parts) : lines(context, (step) => joinParts(parts(step)))
}

/** Returns how long the rows of this execution take: replayed answers take no time; the wait for a rate limit counts from its beginning. */
function stopwatch(startedAt: number): (step: Step, now: number) => number {
  let since = startedAt
  return ({ rows, replayed = 0, waitsUntil = 0 }, now) => {
    if (rows > 0 && rows === replayed) since = now
    return Math.max(now, waitsUntil) - since
  }
}

async function spinner({ streams }: StreamsContext, partsOf: (step: Step) => readonly ProgressPart[]) {
  const { default: ora } = await import('ora')
  const { stderr, env } = streams
  const look = { isAscii: isAscii(env) }
  const frames = look.isAscii ? ['-', '\\', '|', '/'] : ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
  const shown = ora({
    stream: drawingStream(stderr),
    text: 'Starting',
    spinner: { interval: 100, frames },
    // Ctrl-C must reach the command, which ends in order and says how to resume.
    discardStdin: false,
    isEnabled: true,
    color: false,
  }).start()
  return refreshing(
    (step) => {
      // Beside the spinner and the column that a terminal needs for its cursor.
      shown.text = progressLine(step, partsOf(step), (stderr.columns ?? 80) - 3, look)
    },
    () => void shown.stop(),
  )
}

export function progressLine(
  step: Step,
  parts: readonly ProgressPart[],
  width: number,
  look: Pick<Look, 'isAscii'>,
): string {
  const text = fitParts(parts, width)
  const bar = barOf(step, Math.min(maxBarWidth, width - widthOf(text) - 1))
  return cutEnd(drawable(oneLine(`${bar} ${text}`), look), width, look)
}

export function fitParts(parts: readonly ProgressPart[], width: number): string {
  const ranked = parts.toSorted(([, one], [, other]) => one - other)
  const chosen = new Set<ProgressPart>()
  const join = (added?: ProgressPart) => joinParts(parts.filter((part) => chosen.has(part) || part === added))
  for (const part of ranked) if (chosen.size === 0 || widthOf(join(part)) <= width) chosen.add(part)
  return join()
}

const joinParts = (parts: readonly ProgressPart[]): string =>
  parts
    .map(([text]) => text)
    .filter((text) => text !== '')
    .join(' · ')

/** The interval of updates while the work reports nothing, as it does at a rate limit, in milliseconds. */
const refreshEveryMs = 1_000

function refreshing(show: (step: Step) => void, stop: () => void): Progress {
  let last: Step | undefined
  const timer = setInterval(() => last && show(last), refreshEveryMs).unref()
  return {
    update: (step) => {
      last = step
      show(step)
    },
    stop: () => {
      clearInterval(timer)
      stop()
    },
  }
}

const [minBarWidth, maxBarWidth] = [8, 20]

/** Returns the share of rows done as a bar; empty where rows were not counted, or where there is little room. */
export function barOf({ rows, total }: Pick<Step, 'rows' | 'total'>, width = maxBarWidth): string {
  if (!total || width < minBarWidth) return ''
  const full = Math.floor(Math.min(1, rows / total) * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

function lines(context: Context, text: (step: Step) => string): Progress {
  let nextAt = context.clock.now() + lineEveryMs
  return refreshing(
    (step) => {
      if (context.clock.now() < nextAt) return
      nextAt = context.clock.now() + lineEveryMs
      context.notify(text(step))
    },
    () => {},
  )
}

export interface Money {
  /** The most credits that the run may spend. */
  readonly budget?: number | undefined
  /** The balance before this execution of the run. */
  readonly balance?: number | null | undefined
}

/** A shorter wait is over before it can be read. */
const minWaitMs = 2_000

/** Returns percent, rows, found, credits and budget, balance, rate or wait, and the time left of this execution of a run. */
export function progressParts(
  step: Step,
  elapsedMs: number,
  now: number,
  { budget, balance }: Money = {},
): readonly ProgressPart[] {
  const { rows, found = 0, credits = 0, total, replayed = 0, waitsUntil = 0 } = step
  const { stored = 0, team = 0, oldest_stored: oldest, credits_before: before = 0 } = step
  const perSecond = elapsedMs > 0 ? ((rows - replayed) * 1_000) / elapsedMs : 0
  const waitMs = waitsUntil - now
  const isWaiting = waitMs >= minWaitMs
  return [
    [total ? `${Math.floor(Math.min(1, rows / total) * 100)} %` : '', 0],
    [total === undefined ? countRows(rows) : `${formatNumber(rows)} of ${formatNumber(total)} rows`, 2],
    [`${formatNumber(found)} found`, 3],
    [formatReused(stored + team, undefined, oldest === undefined ? undefined : now - oldest), 9],
    [
      budget === undefined ? formatCredits(credits) : `${formatNumber(credits)} of ${formatCredits(budget)}`,
      4,
    ],
    [balance == null ? '' : `balance ${formatNumber(Math.max(0, balance - (credits - before)))}`, 6],
    [
      isWaiting ? `waiting ${duration(waitMs / 1_000)} for the rate limit` : rateText(perSecond),
      isWaiting ? 1 : 7,
    ],
    [total === undefined || perSecond === 0 ? '' : `${duration((total - rows) / perSecond)} left`, 5],
  ]
}

/** Returns the rate in rows per second, or per minute where it is below one; empty where there is none yet. */
function rateText(perSecond: number): string {
  if (perSecond === 0) return ''
  if (perSecond >= 1) return `${formatNumber(Math.round(perSecond))} rows/s`
  return `${countRows(Math.max(1, Math.round(perSecond * 60)))}/min`
}
