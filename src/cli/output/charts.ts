import { cutEnd, formatNumber, type Look, widthOf } from './text.js'

/** A bar with its name, and what is said of it beside its value. */
export interface Bar {
  readonly label: string
  readonly value: number
  readonly note?: string
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const longestBar = 40

/** Returns lines of name, value and a bar whose length is the value's share of the greatest one. */
export function bars(all: readonly Bar[], look: Look): string {
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf))
  const labels = all.map(({ label }) => cutEnd(label, Math.floor(look.width / 3), look))
  const values = all.map(({ value }) => formatNumber(value))
  const notes = all.map(({ note = '' }) => note)
  const [labelWidth, valueWidth, noteWidth] = [widest(labels), widest(values), widest(notes)]
  const beside = labelWidth + valueWidth + 4 + (noteWidth > 0 ? noteWidth + 2 : 0)
  const room = Math.max(1, Math.min(longestBar, look.width - beside))
  const most = Math.max(1, ...all.map(({ value }) => value))
  const lines = all.map(({ value }, at) => {
    const parts = [
      (labels[at] ?? '') + ' '.repeat(labelWidth - widthOf(labels[at] ?? '')),
      (values[at] ?? '').padStart(valueWidth),
      ...(noteWidth > 0 ? [(notes[at] ?? '').padStart(noteWidth)] : []),
      look.green(bar(value / most, room, look)),
    ]
    return `${parts.join('  ').trimEnd()}\n`
  })
  return lines.join('')
}

/** Returns a bar for a share of a width; what is above 0 is seen. */
function bar(share: number, width: number, { isAscii }: Look): string {
  const length = Math.max(0, share) * width
  if (isAscii) return '#'.repeat(share > 0 ? Math.max(1, Math.round(length)) : 0)
  const parts = share > 0 ? Math.max(1, Math.round(length * 8)) : 0
  return '█'.repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? '')
}

/** Returns values as a line of small columns, from the least to the greatest; a value that is not known is a blank. */
export function sparkline(values: readonly (number | null)[], { isAscii }: Pick<Look, 'isAscii'>): string {
  const signs = isAscii ? ['_', '.', '-', '=', '^'] : ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
  const known = values.filter((value) => value !== null)
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const middle = Math.floor(signs.length / 2)
  return values
    .map((value) => {
      if (value === null) return ' '
      return signs[
        most === least ? middle : Math.round(((value - least) / (most - least)) * (signs.length - 1))
      ]
    })
    .join('')
    .trimEnd()
}
