import fc from 'fast-check'

const trigger = fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '\0')
/** Cells that a spreadsheet could take for a formula, or that look like one made safe. */
export const hostile = fc
  .tuple(
    fc.constantFrom('', "'", "''"),
    trigger,
    fc.array(fc.constantFrom('=', '"', ',', ';', '\n', '1', 'A', "'", '+'), { maxLength: 8 }),
  )
  .map(([quotes, first, rest]) => quotes + first + rest.join(''))
