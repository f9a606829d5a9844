/** What the command line and programs are both built on. */
export type { Caller, CallOptions, Input, Reply } from './api/caller.js'
export type { OperationId } from './api/table.js'
