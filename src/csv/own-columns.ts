/** Columns that every output has; input columns of these names are overwritten. */
export const statusColumns = ['_status', '_error', '_credits', '_source'] as const

/** The columns in front of rejected rows: the line where a row begins, and why it is rejected. */
export const rejectColumns = ['_line', '_reason'] as const
