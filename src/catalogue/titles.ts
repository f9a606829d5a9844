import { ApiError } from '../api/errors.js'
import type { Connection } from '../storage/driver.js'

/** Titles that people hold and that have all words of the given one, most frequent first. */
export async function titlesLike(_connection: Connection, _title: string, _limit: number): Promise<string[]> {
  throw new ApiError('not_implemented')
}
