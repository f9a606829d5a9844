import { UsageError } from '../context/errors.js'

/** Refuses the name of a workbook: it would open as nonsense, and only after it was paid for. */
export function checkOutputName(file: string): void {
  const [workbook] = /\.(?:xlsx?|ods|numbers)$/i.exec(file) ?? []
  if (workbook === undefined) return
  throw new UsageError(
    `prospect does not write ${workbook.toLowerCase()} files.`,
    'Spreadsheets open .csv files: use -o FILE.csv, and with --csv also --excel.',
  )
}
