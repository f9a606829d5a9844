/** Cells of a row. */
export type Row = readonly (string | number)[]

/** A table in Markdown. */
export function table(heads: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}
