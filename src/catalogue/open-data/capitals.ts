/** Spellings of words that are not written with a capital first letter only. */
const spellings: ReadonlyMap<string, string> = new Map(
  (
    'AB AG ApS AS ASA BV BVBA CV eG eV GbR GmbH gGmbH IT KG KGaA LLC LLP LP mbH NV OHG OÜ Oy Oyj PC PLC PLLC SA SAS SASU ' +
    'SARL SE SL SLU SpA SRL Srl UG UK USA EU AI HR PR TV IBM SAP BMW KPMG UPS DHL IKEA ING AXA BBC NATO YMCA II III IV'
  )
    .split(' ')
    .map((word) => [word.toLowerCase(), word]),
)

/** Words that stay small within a name. */
const small = new Set(
  'a an and at by de del della der des di do du da e el et for für im in la las le les los of on og och op or the to und van von vom y zu zum zur'.split(
    ' ',
  ),
)

/** Initials such as `s.a.` and `l.l.c.` */
const initials = /^(?:\p{L}\.){2,}\p{L}?$/u
/** Legal forms with points of which not all letters are capitals. */
const initialForms: ReadonlyMap<string, string> = new Map(
  ['e.V.', 'e.K.', 'e.G.', 'S.p.A.', 'S.r.l.', 'G.m.b.H.', 'z.o.o.'].map((form) => [
    form.toLowerCase(),
    form,
  ]),
)
const consonants = /^[bcdfghjklmnpqrstvwxz]{2,4}$/
/** Short words without a vowel that are no initials. */
const unspoken = new Set([
  'mr',
  'mrs',
  'ms',
  'dr',
  'st',
  'ltd',
  'jr',
  'sr',
  'pvt',
  'pty',
  'ltda',
  'bros',
  'hr',
  'mfg',
  'mgmt',
  'svcs',
  'intl',
  'grp',
  'mt',
  'ft',
])

/**
 * Returns a text in lower case with the capitals that names have: `the acme gmbh & co. kg` as `The Acme GmbH & Co. KG`. Text
 * with a capital stays as it is.
 */
export function toCapitals(text: string): string {
  if (text !== text.toLowerCase()) return text
  const words = text.split(' ')
  return words.map((word, at) => capitalised(word, at > 0 && at < words.length - 1)).join(' ')
}

/** The words of names are few, and their spellings take long to find. */
const known: readonly [atEnd: Map<string, string>, inside: Map<string, string>] = [new Map(), new Map()]
const maxKnown = 50_000

function capitalised(word: string, isInside: boolean): string {
  const words = known[isInside ? 1 : 0]
  const found = words.get(word)
  if (found !== undefined) return found
  const written = capitalise(word, isInside)
  if (words.size < maxKnown) words.set(word, written)
  return written
}

/** A word of which nothing but its first letter is special. */
const plain = /^[a-z]{5,}$/

function capitalise(word: string, isInside: boolean): string {
  if (plain.test(word) && !spellings.has(word) && !word.startsWith('mc')) return capital(word)
  const [, before = '', bare = '', after = ''] = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su.exec(word) ?? []
  if (bare === '') return word
  const written = initialForms.get(bare + after.slice(0, 1))
  if (written !== undefined) return before + written + after.slice(1)
  if (initials.test(bare + after)) return before + bare.toUpperCase() + after
  const special = spellings.get(bare)
  if (special !== undefined) return before + special + after
  if (isInside && small.has(bare)) return word
  if (consonants.test(bare) && !unspoken.has(bare)) return before + bare.toUpperCase() + after
  // A domain is written small.
  if (/^[\p{L}\p{N}-]{2,}\.(?:com|net|org|io|de|fr|co|ai)$/u.test(bare)) return before + capital(bare) + after
  const parts = bare.split(/(?<=[-/+&.])/)
  return before + parts.map((part) => withApostrophe(part)).join('') + after
}

/** `o'reilly` and `l'oréal` have two capitals, `mcdonald's` has two others. */
function withApostrophe(part: string): string {
  const scots = /^(mc)(\p{L}{3}.*)$/u.exec(part)
  if (scots) return capital(scots[1] ?? '') + capital(scots[2] ?? '')
  return part
    .replace(
      /^(\p{L})(['’])(\p{L}{2,})/u,
      (_, first: string, mark: string, rest: string) => first.toUpperCase() + mark + capital(rest),
    )
    .replace(/^\p{L}/u, (letter) => letter.toUpperCase())
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Returns a text in capitals only, as registers write places, as a name is written. */
export const fromCapitals = (text: string): string =>
  toCapitals(text === text.toUpperCase() ? text.toLowerCase() : text)
