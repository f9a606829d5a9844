const ascii = /^[\x20-\x7e]*$/
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/** Words of two letters or more, one space apart: nothing to fold. */
const plainWords = /^[a-z0-9]{2,}(?: [a-z0-9]{2,})*$/

/** Text without accents, case and punctuation, words one space apart; initials run together (`S.A.` is `sa`). */
export function foldText(text: string): string {
  const plain = plainLetters(text)
  if (plainWords.test(plain)) return plain
  const spelt = plain.replace(/['’`´]/g, '').replace(/[&+]/g, ' and ')
  return joinInitials(spelt.replace(ascii.test(spelt) ? /[^a-z0-9]+/g : /[^\p{L}\p{N}]+/gu, ' ').trim())
}

/**
 * A company's name as it is compared: folded, and without legal forms at its ends. A name that consists of
 * nothing else keeps its last word; only blank text folds to nothing.
 */
export function foldName(name: string): string {
  const folded = foldText(detached(name))
  if (folded === '') return plainLetters(name).trim()
  const core = withoutForms(folded)
  // Without the forms around it, one that is written together with the name may have come to its end.
  return core === folded || ascii.test(core) ? core : foldName(core)
}

/** A company's name without the legal forms at its end, otherwise as it is written. `folded` is the name folded. */
export function cleanedName(name: string, folded = foldName(name)): string {
  const core = detached(name).trim()
  for (let end = core.length; end > 0; end = core.slice(0, end).search(/[\s,.(]+[^\s,.(]*$/)) {
    const rest = core.slice(0, end)
    if (foldText(rest) === folded) return rest.replace(/[\s,&.(–-]+$/u, '') || rest
  }
  return core
}

function plainLetters(text: string): string {
  const lower = text.toLowerCase()
  if (ascii.test(lower)) return lower
  const bare = lower.normalize('NFKD').replace(/[\u0300-\u036f]+/g, '')
  if (ascii.test(bare)) return bare
  return bare.replace(/[ßæœøłđðþı]/g, (letter) => letters[letter] ?? letter).normalize('NFC')
}

const initials = /(?<![\p{L}\p{N}])\p{L}(?: \p{L})+(?![\p{L}\p{N}])/gu

function joinInitials(folded: string): string {
  return / \p{L}(?: |$)|^\p{L} /u.test(folded)
    ? folded.replace(initials, (run) => run.replaceAll(' ', ''))
    : folded
}

function withoutForms(folded: string): string {
  let words = folded.split(' ')
  while (words.length > 1) {
    const fewer = withoutLast(words)
    if (fewer === words) break
    words = fewer
  }
  while (words.length > 1 && leadingForms.has(words[0] ?? '')) words = words.slice(1)
  return words.join(' ')
}

/** Drops one legal form from the end, with the `and` that bound it (`& Co. KG`). */
function withoutLast(words: string[]): string[] {
  const drop = formLength(words)
  if (drop === 0) return words
  const rest = words.slice(0, -drop)
  return rest.length > 1 && rest.at(-1) === 'and' ? rest.slice(0, -1) : rest
}

/** How many words at the end are one legal form; the first word never is. */
function formLength(words: readonly string[]): number {
  const last = words.at(-1) ?? ''
  const phrase = trailingPhrases
    .get(last)
    ?.find(
      (form) => form.length < words.length && form.every((word, at) => word === words.at(at - form.length)),
    )
  return phrase?.length ?? (trailingForms.has(last) ? 1 : 0)
}

/** The name without the legal forms that are written together with it. */
function detached(name: string): string {
  if (ascii.test(name)) return name
  let text = name.normalize('NFKC').trim()
  for (const form of attachedForms) {
    if (text.length > form.length && text.startsWith(form)) text = text.slice(form.length).trim()
    if (text.length > form.length && text.endsWith(form)) text = text.slice(0, -form.length).trim()
  }
  return text || name
}

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Legal forms that end a company's name, folded: no accents, no dots, single letters run together. */
export const trailingForms: ReadonlySet<string> = wordSet(`
  ab ad ag aktiengesellschaft aktiebolag anpartsselskab aps as asa bhd bt bv bvba co company coop corp corporation cv
  dac doo ead eeig ei eirl eood eu eurl ev eg ehf gbr gesmbh ggmbh gie gmbh hf ik inc incorporated jsc kda kft kg kgaa
  kk ks kgs lda llc llp lp ltd ltda limited limitada lllp mbh ltee limitee nv nyrt oao ohg oo ood ooo oy oyj pao partg pc plc
  pllc pte pt pty pvt private proprietary rl sa saog saoc sab sae sal sapa sarl sarlu sas sasu sc sca scop scpa scrl sci sci
  scs sdn se selarl sia sicav sl slu slne snc soe sociedad spa spc spk spolka spj spzoo zoo sro srl srls stock tbk tov uab ug
  ulc unlimited vof zao zrt haftungsbeschrankt anonim sirketi sti limitada ооо оао зао пао ао
`)

/** Forms of several words that end a name, by their last word; longest first. */
export const trailingPhrases: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  ['zoo', [['sp', 'zoo']]],
  [
    'cv',
    [
      ['s', 'de', 'rl', 'de', 'cv'],
      ['sa', 'de', 'cv'],
      ['de', 'cv'],
    ],
  ],
  ['company', [['joint', 'stock', 'company']]],
  ['limitee', [['a', 'responsabilite', 'limitee']]],
])

/** Legal forms that may also begin a name; those that are words of well-known names are left out. */
export const leadingForms: ReadonlySet<string> = wordSet(`
  sarl eurl sasu selarl scop ooo zao oao pao uab pt gmbh ооо оао зао пао
`)

/** Legal forms that are written without a space, at either end. */
export const attachedForms: readonly string[] = [
  '股份有限公司',
  '有限责任公司',
  '有限責任公司',
  '株式会社',
  '有限会社',
  '合同会社',
  '合資会社',
  '合名会社',
  '有限公司',
  '주식회사',
  '유한회사',
  '(株)',
  '(有)',
  '(주)',
]
