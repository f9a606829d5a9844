import type { Engine } from '../../engine/request/engine.js'
import type { RowCaller } from '../../engine/settlement/row-caller.js'

/** The engine itself: it answers many rows at once, since they share their commits. */
export const engineAnswering = ({ actingFor }: Engine): RowCaller => ({
  ...{ source: '', chunksAtOnce: 2, atOnce: 200, mayRepeat: async () => true, actingFor },
})
