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

/** Text that needs no folding: words of two letters or more, one space apart. */
const plainWords = /^[a-z0-9]{2,}(?: [a-z0-9]{2,})*$/

/** Returns text without accents, case and punctuation, with one space between words. Initials are joined: `S.A.` is `sa`. */
export function foldText(text: string): string {
  const plain = toPlainLetters(text)
  if (plainWords.test(plain)) return plain
  const spelt = plain.replace(/['’`´]/g, '').replace(/[&+]/g, ' and ')
  return joinInitials(spelt.replace(ascii.test(spelt) ? /[^a-z0-9]+/g : /[^\p{L}\p{N}]+/gu, ' ').trim())
}

/**
 * Returns a company's name for comparison: folded, and without legal forms at either end. A name that consists only of
 * legal forms keeps its last word; blank text becomes ''.
 */
export function foldName(name: string): string {
  const folded = foldText(removeAttachedForms(name))
  if (folded === '') return toPlainLetters(name).trim()
  const core = removeForms(folded)
  // Removing a form can expose an attached one (`株式会社`) at the end.
  return core === folded || ascii.test(core) ? core : foldName(core)
}

/** Returns a company's name without the legal forms at its end, otherwise as written. `folded` is the folded name. */
export function cleanName(name: string, folded = foldName(name)): string {
  const core = removeAttachedForms(name).trim()
  for (let end = core.length; end > 0; end = core.slice(0, end).search(/[\s,.(]+[^\s,.(]*$/)) {
    const rest = core.slice(0, end)
    if (foldText(rest) === folded) return rest.replace(/[\s,&.(–-]+$/u, '') || rest
  }
  return core
}

function toPlainLetters(text: string): string {
  const lower = text.toLowerCase()
  if (ascii.test(lower)) return lower
  const bare = lower.normalize('NFKD').replace(/[\u0300-\u036f]+/g, '')
  if (ascii.test(bare)) return bare
  return bare.replace(/[ßæœøłđðþı]/g, (letter) => letters[letter] ?? letter).normalize('NFC')
}

function joinInitials(folded: string): string {
  if (!/ \p{L}(?: |$)|^\p{L} /u.test(folded)) return folded
  // Stands here because reading this expression takes half a millisecond, and few names need it.
  return folded.replace(/(?<![\p{L}\p{N}])\p{L}(?: \p{L})+(?![\p{L}\p{N}])/gu, (run) =>
    run.replaceAll(' ', ''),
  )
}

function removeForms(folded: string): string {
  let words = folded.split(' ')
  while (words.length > 1) {
    const fewer = removeLastForm(words)
    if (fewer === words) break
    words = fewer
  }
  while (words.length > 1 && leadingForms.has(words[0] ?? '')) words = words.slice(1)
  return words.join(' ')
}

/** Removes one legal form from the end, with the `and` before it (`& Co. KG`). */
function removeLastForm(words: string[]): string[] {
  const drop = countFormWords(words)
  if (drop === 0) return words
  const rest = words.slice(0, -drop)
  return rest.length > 1 && rest.at(-1) === 'and' ? rest.slice(0, -1) : rest
}

/** Returns how many words at the end form one legal form; the first word never counts. */
function countFormWords(words: readonly string[]): number {
  const last = words.at(-1) ?? ''
  const phrase = trailingPhrases
    .get(last)
    ?.find(
      (form) => form.length < words.length && form.every((word, at) => word === words.at(at - form.length)),
    )
  return phrase?.length ?? (trailingForms.has(last) ? 1 : 0)
}

/** Removes the legal forms that are written without a space (`attachedForms`). */
function removeAttachedForms(name: string): string {
  if (ascii.test(name)) return name
  let text = name.normalize('NFKC').trim()
  for (const form of attachedForms) {
    if (text.length > form.length && text.startsWith(form)) text = text.slice(form.length).trim()
    if (text.length > form.length && text.endsWith(form)) text = text.slice(0, -form.length).trim()
  }
  return text || name
}

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Legal forms at the end of a company's name, folded: no accents or dots, single letters joined. */
export const trailingForms: ReadonlySet<string> = wordSet(`
  ab ad ag aktiengesellschaft aktiebolag anpartsselskab aps as asa bhd bt bv bvba co company coop corp corporation cv
  dac doo ead eeig ei eirl eood eu eurl ev eg ehf gbr gesmbh ggmbh gie gmbh hf ik inc incorporated jsc kda kft kg kgaa
  kk ks kgs lda llc llp lp ltd ltda limited limitada lllp mbh ltee limitee nv nyrt oao ohg oo ood ooo oy oyj pao partg pc plc
  pllc pte pt pty pvt private proprietary rl sa saog saoc sab sae sal sapa sarl sarlu sas sasu sc sca scop scpa scrl sci sci
  scs sdn se selarl sia sicav sl slu slne snc soe sociedad spa spc spk spolka spj spzoo zoo sro srl srls stock tbk tov uab ug
  ulc unlimited vof zao zrt haftungsbeschrankt anonim sirketi sti limitada ооо оао зао пао ао
`)

/** Legal forms of several words at the end of a name, by their last word; longest first. */
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

/** Legal forms that may also begin a name, without those that are words of well-known names. */
export const leadingForms: ReadonlySet<string> = wordSet(`
  sarl eurl sasu selarl scop ooo zao oao pao uab pt gmbh ооо оао зао пао
`)

/** Legal forms that are written without a space, at either end of a name. */
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
