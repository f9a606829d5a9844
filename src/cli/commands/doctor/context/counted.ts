import { grouped } from '../../../output/terminal.js'

/** A number with its noun, such as `1 job` or `1,200 deliveries`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`
