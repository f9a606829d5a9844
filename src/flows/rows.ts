import type { Fields } from '../api/values/objects.js'

/** A row on its way through a flow. */
export interface FlowRow {
  /** Line of the input that it comes from. */
  readonly line: number
  /** Its fields; `undefined` where it has left the flow. It keeps its place, so that the rows behind it keep theirs. */
  readonly fields: Fields | undefined
}
