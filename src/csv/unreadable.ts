import { existsSync } from 'node:fs'
import { Refusal } from '../api/calls/errors.js'

/** The refusal of a file that cannot be read; where a stopped run was to write it, it says so. */
export const unreadable = (path: string, cause: unknown): Refusal =>
  new Refusal('csv.unreadable', { path, cause, isLeft: existsSync(`${path}.partial`) })
