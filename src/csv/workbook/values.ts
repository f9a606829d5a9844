/** How a number of a workbook is displayed: as a date or time, or as digits with leading zeros. */
export type NumberFormat = 'date' | 'time' | 'datetime' | 'duration' | { readonly digits: number }

const builtIn: readonly (readonly [NumberFormat, readonly number[]])[] = [
  ['date', [14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58]],
  ['time', [18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56]],
  ['datetime', [22]],
  ['duration', [46]],
]

/** Spreadsheets write no longer code of a format. */
const maxCodeLength = 255

/** Returns the format with an id, of which a workbook's own ones have a code; `undefined` for a plain number. */
export function numberFormatOf(id: number, code: string | undefined): NumberFormat | undefined {
  if (code === undefined) return builtIn.find(([, ids]) => ids.includes(id))?.[0]
  if (code.length > maxCodeLength) return undefined
  const [first = ''] = code.replace(/"[^"]*"|\\.|_.|\*./g, '').split(';')
  if (/^0{2,}$/.test(first)) return { digits: first.length }
  if (/\[[hms]+\]/i.test(first)) return 'duration'
  const letters = first.replace(/\[[^\]]*\]/g, '').toLowerCase()
  if (letters.includes('general')) return undefined
  const hasTime = /[hs]/.test(letters)
  const hasDate = /[dy]/.test(letters) || (letters.includes('m') && !hasTime)
  if (hasDate) return hasTime ? 'datetime' : 'date'
  return hasTime ? 'time' : undefined
}

/** Returns the number in a cell as its text, with all of its digits or as a date. */
export function formatValue(value: string, format: NumberFormat | undefined, isFrom1904: boolean): string {
  if (format === undefined || value === '') return formatPlain(value)
  if (typeof format === 'object')
    return /^\d+$/.test(value) ? value.padStart(format.digits, '0') : formatPlain(value)
  const days = Number(value)
  if (!(days >= 0) || days > mostDays) return formatPlain(value)
  if (format === 'duration') return formatDuration(days)
  return formatDate(days, format, isFrom1904) ?? formatPlain(value)
}

/** Those from 1900 to the end of the year 9999. */
const mostDays = 2_958_466
/** The end of the year 9999, in seconds: spreadsheets have no later dates, and they would read `+010000-01`. */
const endOfDates = 253_402_300_800
const secondsPerDay = 86_400

function formatDuration(days: number): string {
  const seconds = Math.round(days * secondsPerDay)
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}

function formatDate(
  days: number,
  format: 'date' | 'time' | 'datetime',
  isFrom1904: boolean,
): string | undefined {
  // Counted from 1900, day 60 is a 29 February that there was not.
  const offset = isFrom1904 ? 1_462 : days < 60 ? 1 : 0
  const seconds = Math.round((days + offset - 25_569) * secondsPerDay)
  if (seconds >= endOfDates) return undefined
  const iso = new Date(seconds * 1_000).toISOString()
  const hasDay = isFrom1904 || days >= 1
  if (format === 'time' || !hasDay) return hasDay && days >= 1 ? iso.slice(0, 19) : iso.slice(11, 19)
  return format === 'date' ? iso.slice(0, 10) : iso.slice(0, 19)
}

/** Longer ones are texts: the largest number of a spreadsheet has 309 digits before the point. */
const maxNumberLength = 1_000

/** Returns a number without exponent. Integers keep every digit, others the 15 that a spreadsheet shows. */
function formatPlain(value: string): string {
  if (value.length > maxNumberLength) return value
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(value) ?? []
  if (whole === '' && fraction === '') return value
  const digits = `${whole}${fraction}`
  const point = whole.length + Number(exponent)
  const significant = withoutZerosBehind(digits.replace(/^0+/, '')).length
  const isInteger = point >= withoutZerosBehind(digits).length
  if (!isInteger && significant > 15) return formatPlain(Number(value).toPrecision(15))
  const padded = '0'.repeat(Math.max(0, 1 - point)) + digits.padEnd(point, '0')
  const at = Math.max(1, point)
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const rest = withoutZerosBehind(padded.slice(at))
  const text = rest === '' ? integer : `${integer}.${rest}`
  return sign === '-' && text !== '0' ? `-${text}` : text
}

/** A pattern such as `/0+$/` would begin anew at every zero of a long number. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** Returns the text of a cell, in which some characters are written as `_x000D_`. */
export const decodeEscapes = (text: string): string =>
  text.includes('_x')
    ? text.replace(/_x([0-9A-F]{4})_/gi, (whole, code: string) => {
        const unit = Number.parseInt(code, 16)
        return unit === 0 || (unit >= 0xd800 && unit < 0xe000) ? whole : String.fromCharCode(unit)
      })
    : text

/** Returns a text for the XML of a cell. */
export const encodeText = (text: string): string =>
  text
    .replace(/_(?=x[0-9A-F]{4}_)/gi, '_x005F_')
    .replace(unwritable, (unit) => `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>]/g, (character) => entities[character] ?? character)

/** XML has no other way to write control characters, and a bare CR would be read as LF. */
const unwritable = /[^\P{Cc}\t\n]|[\p{Cs}\ufffe\uffff]/gu
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
