/** The tables of the engine, each behind those it refers to, with the columns its rows are known by. */
export const engineTables: Readonly<Record<string, readonly string[]>> = {
  clock: ['id'],
  workspaces: ['id'],
  members: ['id'],
  keys: ['id'],
  movements: ['workspace_id', 'seq'],
  counters: ['owner', 'name'],
  replies: ['workspace_id', 'key'],
  reply_runs: ['number'],
  run_replies: ['place'],
  personas: ['id'],
  cursor_secrets: ['workspace_id'],
  jobs: ['id'],
  records: ['job_id', 'ordinal'],
  enrichments: ['id'],
  lists: ['id'],
  list_companies: ['list_id', 'ordinal'],
  deliveries: ['id'],
  signing_secrets: ['workspace_id', 'secret'],
  chunk_runs: ['run'],
  chunks: ['id'],
  chunk_workers: ['id'],
}

/** Views over them. */
export const engineViews: readonly string[] = ['entries']
