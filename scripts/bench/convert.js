/** Does one conversion of a workbook, as the process that the program starts, so that it can be measured. */
import { openSync } from 'node:fs'

process.send = (result) => {
  if (!result.done) throw new Error(JSON.stringify(result))
  process.exit()
}
await import('../../dist/workbook.cjs')
const task = JSON.parse(process.argv[2])
process.emit('message', 'workbook' in task ? { ...task, csv: openSync(task.csv, 'wx') } : task)
