/** Does one conversion of a workbook, as the process that the program starts, so that it can be measured. */
process.send = (result) => {
  if (!result.done) throw new Error(JSON.stringify(result))
  process.exit()
}
await import('../../dist/workbook.cjs')
process.emit('message', JSON.parse(process.argv[2]))
