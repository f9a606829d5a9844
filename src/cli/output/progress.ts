import type { ClockContext, GlobalOptions, StreamsContext } from '../context/context.js'
import { drawingStream } from '../context/io.js'
import { duration, formatCredits, formatNumber, oneLine } from './text.js'

/** How far long work has come. */
export interface Step {
  readonly rows: number
  readonly found: number
  readonly credits: number
  /** All rows; `undefined` where they were not counted. */
  readonly total: number | undefined
}

/** A display of long work on stderr. */
export interface Progress {
  update(step: Step): void
  /** Removes the display. */
  stop(): void
}

/** The interval of lines where there is no terminal, in milliseconds. */
const lineEveryMs = 10_000

const silent: Progress = { update: () => {}, stop: () => {} }

/** Starts a display: a spinner on a terminal, a line every 10 s elsewhere, nothing with `--quiet`. */
export async function startProgress(
  context: StreamsContext & ClockContext,
  options: GlobalOptions,
  textOf: (step: Step, elapsedMs: number) => string = progressText,
): Promise<Progress> {
  if (options.quiet) return silent
  const startedAt = context.clock.now()
  const text = (step: Step) => textOf(step, context.clock.now() - startedAt)
  const { isTTY, columns = 0 } = context.streams.stderr
  // Some terminals do not know their width; a spinner cannot tell then how many lines it has to clear.
  return isTTY && columns > 0 ? spinner(context, text) : lines(context, options, text)
}

async function spinner({ streams }: StreamsContext, text: (step: Step) => string): Promise<Progress> {
  const { default: ora } = await import('ora')
  // Ctrl-C must reach the command, which ends in order and says how to resume.
  const shown = ora({ stream: drawingStream(streams.stderr), text: 'Starting', discardStdin: false }).start()
  return refreshing(
    (step) => {
      shown.text = oneLine(barOf(step) + text(step))
    },
    () => void shown.stop(),
  )
}

/** The interval of updates while the work reports nothing, as it does at a rate limit, in milliseconds. */
const refreshEveryMs = 1_000

/** Shows each step, and the last one again as time goes by. */
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

const barWidth = 20

/** Returns the share of rows done as a bar and in percent; empty where rows were not counted. */
export function barOf({ rows, total }: Pick<Step, 'rows' | 'total'>): string {
  if (!total) return ''
  const part = Math.min(1, rows / total)
  const full = Math.floor(part * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${Math.floor(part * 100)} % · `
}

function lines(
  context: StreamsContext & ClockContext,
  options: GlobalOptions,
  text: (step: Step) => string,
): Progress {
  let nextAt = context.clock.now() + lineEveryMs
  return refreshing(
    (step) => {
      if (context.clock.now() < nextAt) return
      nextAt = context.clock.now() + lineEveryMs
      context.notify(text(step), options)
    },
    () => {},
  )
}

/** Returns rows done, found, credits, rate and time left, in one line. */
export function progressText({ rows, found, credits, total }: Step, elapsedMs: number): string {
  const perSecond = elapsedMs > 0 ? (rows * 1_000) / elapsedMs : 0
  const parts = [
    total === undefined
      ? `${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`
      : `${formatNumber(rows)} of ${formatNumber(total)} rows`,
    `${formatNumber(found)} found`,
    formatCredits(credits),
    rateText(perSecond),
  ]
  const left = total === undefined || perSecond === 0 ? undefined : (total - rows) / perSecond
  return [...parts, ...(left === undefined ? [] : [`${duration(left)} left`])].join(' · ')
}

/** Returns the rate in rows per second, or per minute where it is below one. */
function rateText(perSecond: number): string {
  if (perSecond === 0 || perSecond >= 1) return `${formatNumber(Math.round(perSecond))} rows/s`
  const perMinute = Math.max(1, Math.round(perSecond * 60))
  return `${perMinute} ${perMinute === 1 ? 'row' : 'rows'}/min`
}
