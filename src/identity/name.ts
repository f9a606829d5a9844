import { once } from '../api/values/objects.js'
import commonNames from './given-names.json' with { type: 'json' }
import iberianNames from './iberian-family-names.json' with { type: 'json' }
import legalForms from './legal-forms.json' with { type: 'json' }
import { ascii, toPlainText } from './spelling.js'
import { readTitle } from './titles.js'

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
  ς: 'σ',
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

/** Titles before a name, folded. Initials such as `M. R.` read the same: they stay where they are all that is before one word. */
const titles: ReadonlySet<string> = new Set(
  'dr prof professor mr mrs ms mx herr herrn hr hrn frau fr mme madame monsieur dipl ing dott dottssa sra ir hc'.split(
    ' ',
  ),
)

/** Degrees behind a name, folded. `Jr.` tells people apart. */
const degrees: ReadonlySet<string> = new Set('phd mba emba msc bsc cpa cfa pmp llm dba'.split(' '))

/** Pronouns in brackets or with a stroke between them. */
const pronoun =
  'she|her|hers|he|him|his|they|them|theirs|ze|zir|xe|xem|any|elle|il|lui|iel|sie|ihr|er|ihm|ella|él|lei'
const pronouns = new RegExp(
  `\\s*(?:[([]\\s*(?:she|he|they|(?:${pronoun})(?:\\s*[/|,]\\s*(?:${pronoun}))+)\\s*[)\\]]|(?:[|–-]\\s*|(?<=\\s))(?:${pronoun})(?:/(?:${pronoun}))+\\s*$)`,
  'giu',
)
/** A degree behind a comma, or one that nobody is called. */
const degree =
  /(?:\s*,\s*(?:ph\.?\s?d|e?mba|m\.?sc|b\.?sc|m\.?d|cpa|cfa|pmp|ll\.?m|dba|esq|j\.?d|shrm-s?cp|s?phr)\.?|\s+Ph\.?\s?D\.?)\s*$/iu

/** How people are addressed. */
const salutation =
  /^(?:(?:herrn?|frau|fräulein|frl|hrn?|mr|mrs|ms|mx|mme|mlle|madame|monsieur|mademoiselle|sra|srta|señora?|señorita|signora?|signorina|mevrouw|meneer|pani)(?:\.\s*|\s+)|(?:fr|sr|dhr|mevr|dña)\.\s*|sig\.(?:(?:ra|na)\b\.?)?\s*)/iu
/** The same, where a given name and a family name follow: `M. Paul Durand`. Else it is an initial or a name. */
const maybeSalutation = /^(?:m\.|d\.|don|doña|pan|fr|hr)\s*(?=(\p{L}+)[-\p{L}]*\s+\S*\p{L})/iu

/** Titles before a name; what may be a name or initials, too, needs its full stop. */
const title =
  /^(?:(?:dr|prof|professor|dott|dottssa)(?:\.-?\s*|\s+)|(?:ing|ir|dipl|mag|univ|priv|hon|habil|doz|ass|assoc)\.-?\s*)/iu
/** What a title is of: `Dr. rer. nat.`, `Dipl.-Kfm.`, `Dr. h. c. mult.`, `Dipl.-Ing. (FH)`. */
const branch =
  /^(?:\((?:fh|univ|ba|tu|th|dh|uni)\.?\)\s*|[he]\.?\s?[ch]\.\s*|(?:ing|inf|kfm|kff?r|betriebsw|wirt|wi|volksw|phys|math|chem|biol|geol|psych|päd|paed|soz|des|jur|med|dent|vet|phil|nat|rer|pol|oec|techn?|theol|iur|mont|soc|hort|agr|sc|habil|mult|doz|prof)\.(?:-|\s*))/iu

/** Most names have no such beginning. */
const startsWithTitle =
  /^\s*(?:[a-zñª]{1,6}\.|(?:herr|fr|m[a-z]{1,10}|h?rn?|dr|prof|dott|do[nñ]|s[ei][ngñ]|sra|srta|pan)[a-zäñ]*\s)/i

/** Returns a name without how the person is addressed, and without titles before it. */
function withoutTitles(name: string): string {
  const given = maybeSalutation.exec(name.trimStart())?.[1]
  const address = given !== undefined && isGivenName(given) ? maybeSalutation : salutation
  let rest = name.trimStart().replace(address, '')
  const isAddressed = rest !== name.trimStart()
  // `Hr. u. Fr. Muster` are two people.
  if (isAddressed && /^(?:u\.|und|and|&|et|y)\s/i.test(rest)) return name
  for (let before = ''; rest !== before; ) {
    before = rest
    const after = rest.replace(title, '')
    if (after === rest) break
    rest = after
    for (let more = ''; rest !== more; ) {
      more = rest
      rest = rest.replace(branch, '')
    }
  }
  // `Frau Muster` and `Herr Muster` are two people.
  const isName = isAddressed ? /\p{L}\S*\s+\S*\p{L}/u : /\p{L}/u
  return isName.test(rest) ? rest : name
}

/** Returns a person's name, or a part of it, as it is asked for: without titles before it, pronouns and degrees behind it. */
export function toPersonName(name: string): string {
  let text = startsWithTitle.test(name) ? withoutTitles(name) : name
  if (!/[,([/]|ph\.?\s?d/i.test(text)) return text
  const written = text
  text = text
    .replace(pronouns, ' ')
    .replace(/\s{2,}/g, ' ')
    .trim()
  while (degree.test(text)) text = text.replace(degree, '')
  return text === '' ? written : text
}

const givenNames = once(() => new Set(commonNames.flatMap((names) => names.split(' '))))

/** Whether a word is a common given name. */
export const isGivenName = (word: string): boolean => givenNames().has(foldText(word))

/** Words that begin a family name: `von Stein`, `van der Berg`, `de la Cruz`. */
const particles: ReadonlySet<string> = new Set(
  'von vom zu zum zur van vander vanden ter ten de del della dela di da do dos das du des la le el al bin ibn mac af av'.split(
    ' ',
  ),
)

/** What is written behind a name about whose it is: `Max Elf (Einkauf)`, `Max Elf - Einkauf`. */
const remark = /\s*(?:\([^()]*\)|\[[^[\]]*\]|\s[-–—|]\s.*)\s*$/u

/** Words, folded, of which a cell is no person's name: teams, departments, mailboxes and what stands for nobody. */
const nobodyWords: ReadonlySet<string> = new Set(
  (
    'team teams department departments dept abteilung afdeling equipe equipo squadra dzial group gruppe ' +
    'vertrieb marketing einkauf verkauf buchhaltung support service services kundenservice kundendienst kundenbetreuung ' +
    'customer client office buro biuro bureau ufficio zentrale info desk helpdesk hotline empfang rezeption reception sekretariat ' +
    'sekretariaat segreteria secretariat verwaltung administration administratie amministrazione accounts accounting payable ' +
    'receivable finanzen finance procurement purchasing operations geschaftsleitung geschaftsfuhrung management admin webmaster ' +
    'personalabteilung rechnungswesen disposition auftragsabwicklung comptabilite achats ventes ventas compras contabilidad ' +
    'acquisti vendite contabilita verkoop inkoop boekhouding ksiegowosc sprzedaz ' +
    'unbekannt unknown inconnu desconocido sconosciuto onbekend nieznany nn tbd dummy ansprechpartner anonymous anonym noreply'
  ).split(' '),
)
/** The same, where no common given name is before them. */
const unlikelyWords: ReadonlySet<string> = new Set('sales test guest gast user kontakt contact'.split(' '))
/** Words, folded, of which a cell of nothing else says what somebody does: `Managing Director`, `Le Directeur Général`. */
const roleWords: ReadonlySet<string> = new Set(
  (
    'director direktor direktorin directeur directrice directora direttore direttrice direction direktion ' +
    'direccion direzione directie manager managing manageur gerente gerant gerance geschaftsfuhrer ' +
    'geschaftsfuhrerin gf chef chefin chefe jefe jefa capo boss leiter leiterin leitung leitende leitender head ' +
    'assistenz assistent assistentin assistant assistante owner founder inhaber inhaberin eigentumer proprietaire ' +
    'propietario titolare eigenaar prasident president presidente vorstand vorstandsvorsitzender prokurist ' +
    'prokuristin partner ceo cfo coo cto cmo cio general generale generaldirektor technischer technische ' +
    'technical technique kaufmannischer kaufmannische commercial commerciale comercial human resources ressources ' +
    'humaines recursos humanos risorse umane responsable responsabile verantwortlicher verantwortliche ' +
    'ansprechpartnerin gesellschafter gesellschafterin geschaftsfuhrender geschaftsfuhrende stellvertretender ' +
    'stellvertretende stellv lager entwickler entwicklung developer engineer projet projekt projektleiter ' +
    'projektleitung product software plant ingenieur ingeniero ingegnere charge chargee affaires daffaires ' +
    'amministratore delegato consejero delegado consultant capital zarzad firmy kierownik dzialu servicio ' +
    'servizio cliente clientes clienti atencion relation relations clientele klantenservice sales vp vice svp evp ' +
    'senior junior lead executive chief officer account key regional'
  ).split(' '),
)
const articles: ReadonlySet<string> = new Set(
  'der die das dem den le la les l el los il de du des del della the of and et und y e'.split(' '),
)
/** What joins a role and what it is for: `Chef de projet`. */
const prepositions: ReadonlySet<string> = new Set('de du des of for fur im in'.split(' '))
/** First words, folded, of what is no person: a family, a company, a branch. */
const groupWords: ReadonlySet<string> = new Set(
  (
    'familie family famille familia famiglia fam eheleute ehepaar firma firm fa werk filiale niederlassung ' +
    'standort zweigstelle lager lagerhalle agence sucursal hauptsitz siege sede gebruder geschwister'
  ).split(' '),
)
/** A role that ends in one, such as `Vertriebsleiter`. */
const compoundRole = /.{3}(?:leiter|leiterin|leitung|direktor|direktorin|manager|beauftragte|beauftragter)$/
/** What is written where no name is known, folded. */
const noNames = new RegExp(
  `^(?:${[
    'no name|not (?:available|known|provided|specified|given|set|found|applicable)',
    'nicht (?:bekannt|verfugbar|vorhanden|angegeben|benannt|zutreffend)',
    'keine? (?:angaben?|namen?|ansprechpartner|kontakt|info)',
    '(?:siehe|wie) (?:oben|unten|vorher|notiz|anhang|bemerkung|kommentar)',
    'wird (?:nachgereicht|erganzt|noch .+)|ohne (?:angaben?|namen?)|first last|first name|last name',
    'to follow|folgt(?: noch)?|noch offen|keine (?:daten|ahnung)|dato mancante|a completer|s notiz|abc def',
    '(?:see|as|same as) (?:above|below)|dito|idem|sans nom|pas de nom',
    'non (?:renseigne|communique|disponible|precise|disponibile|noto)|sin (?:nombre|datos)',
    'no (?:disponible|aplica|data|contact)|nessun (?:nome|dato)|geen naam|niet (?:bekend|beschikbaar)',
    'nie (?:dotyczy|podano)|brak danych|max mustermann|erika mustermann|foo bar|lorem ipsum',
    'vorname nachname|nachname vorname|first ?name last ?name|name surname|nom prenom|prenom nom',
  ].join('|')})$`,
)
/** A word of one letter or of keys side by side. */
const fillerWord = /^(?:(\p{L})\1{2,}|(?:asdf|qwer|uiop|yxcv|zxcv)\w*)$/u

/** Legal forms that no family name is spelt like. */
const certainForm =
  /^(?:gmbh|ag|kg|ohg|gbr|inc|ltd|llc|llp|plc|corp|limited|corporation|incorporated|sarl|srl|eurl|company)$/

/** Whether a text is the name of a company, team or department, or of nobody. */
export function isNobody(text: string): boolean {
  const written = text.split(/[\s,/&]+/).filter((word) => /\p{L}/u.test(word))
  const words = written.map(foldText)
  const [first = '', last = ''] = [words[0], words.at(-1)]
  if (words.some((word) => nobodyWords.has(word))) return true
  if (words.length > 1 && (groupWords.has(first) || compoundRole.test(first))) return true
  const telling = words.filter((word) => !articles.has(word))
  if (telling.length > 0 && telling.every((word) => roleWords.has(word))) return true
  if (roleWords.has(first) && prepositions.has(words[1] ?? '')) return true
  if (noNames.test(words.join(' ')) || (words.length > 1 && words.every((word) => fillerWord.test(word))))
    return true
  if (words.length > 1 && words.every((word) => word.length === 1)) return true
  if (!isGivenName(first) && words.some((word) => unlikelyWords.has(word))) return true
  if (unlikelyWords.has(first) || words.length < 2) return unlikelyWords.has(first)
  return (
    certainForm.test(last) || (trailingForms().has(last) && !/^\p{Lu}\p{Ll}+$/u.test(written.at(-1) ?? ''))
  )
}

/** Whether what stands behind a comma says what somebody does, or where: it is no given name. */
function isRole(text: string): boolean {
  const words = text.split(/\s+/)
  if (words.length === 1 && isGivenName(text)) return false
  const { seniority, function: area } = readTitle(text)
  return seniority !== undefined || area !== undefined || isNobody(text) || foldText(text) === 'sales'
}

/** Whether what stands before a comma is a family name: one word, one with a particle, or two Spanish ones. */
function isFamily(text: string): boolean {
  const words = text.split(/\s+/)
  const isFamilyName = (word = '') => familyNames().has(foldText(word))
  const [first = '', second = ''] = words
  if (words.length === 1 || particles.has(first.toLowerCase())) return true
  if (isGivenName(first) && !isFamilyName(first)) return false
  return particles.has(second.toLowerCase()) || (words.length === 2 && words.every(isFamilyName))
}

const inCapitals = (word: string): boolean => /^\p{Lu}[\p{Lu}'’-]+$/u.test(word)

/** Whether the first of two words is the family name, which alone is in capitals: `HERTEL Lenya`, and not `JP Morgan`. */
const isFamilyFirst = (first: string, second: string): boolean =>
  inCapitals(first) &&
  !inCapitals(second) &&
  /\p{Ll}/u.test(second) &&
  (isGivenName(second) ? !isGivenName(first) || first.length > 3 : first.length > 3 && !isGivenName(first))

/**
 * Returns the first and last name in a full one: around a comma, of two words, before a particle, beside a middle initial, behind
 * two given names or before two Spanish family names; `undefined` where several words may be either, and where it is no person.
 * Whoever is only addressed, as `Frau Muster`, has no first one. What somebody does may stand behind a comma.
 */
export function splitPersonName(
  full: string,
): readonly [first: string | undefined, last: string] | undefined {
  const name = withoutRemark(full)
  const [family = '', given, ...more] = name.split(',').map((part) => part.trim())
  const isSuffix = given !== undefined && suffixes.has(foldText(given))
  if (isNobody(family)) return undefined
  if (given && family && !isSuffix && more.length === 0) {
    if (isRole(given)) return /\s/.test(family) ? splitPersonName(family) : undefined
    if (!isFamily(family)) return undefined
    // `Vries, Jan de`.
    const [, before = given, particle] = behindGiven.exec(given) ?? []
    return particles.has(particle?.split(' ', 1)[0]?.toLowerCase() ?? '')
      ? [toPersonName(before), `${particle} ${family}`]
      : [toPersonName(given), family]
  }
  if (more.length > 0 || (given !== undefined && !isSuffix)) return undefined
  const words = family.split(/\s+/)
  while (words.length > 2 && suffixes.has(foldText(words.at(-1) ?? ''))) words.pop()
  const [first, ...rest] = words
  if (rest.length === 1 && salutation.test(family)) return [undefined, rest.join()]
  if (first === undefined || rest.length === 0 || !words.every((word) => /\p{L}/u.test(word)))
    return undefined
  if (rest.length === 1 && isFamilyFirst(first, rest[0] ?? '')) return [rest[0], first]
  // `Weber T.`; of `Anna K.` the family name is cut.
  if (rest.length === 1 && initial.test(rest[0] ?? '') && first.length > 2 && !isGivenName(first))
    return [rest[0], first]
  if (rest.length === 1 || particles.has(rest[0]?.toLowerCase() ?? '')) return [first, rest.join(' ')]
  if (rest.length === 2 && initial.test(rest[0] ?? ''))
    return [initial.test(first) ? `${first} ${rest[0]}` : first, rest[1] ?? '']
  return splitLongName(words)
}

const initial = /^\p{Lu}\.?$/u
/** A given name and the particles of the family name behind it. */
const behindGiven =
  /^(.+?)\s+((?:von|van|de|del|della|di|da|dos|du|zu|af|av|ter|ten)(?:\s+(?:der|den|la|las|los|dem))?)$/i

/** Returns a full name without titles, and without a remark behind it. */
function withoutRemark(full: string): string {
  const bare = full.replace(remark, '')
  return toPersonName(bare.trim() === '' ? full : bare)
}

/** Returns a full name, the first one first, as it is looked up; `undefined` where it is none, or a comma leaves open which is which. */
export function toWholeName(full: string): string | undefined {
  const name = withoutRemark(full)
  // `Jr.` tells people apart.
  const isOfSuffix = suffixes.has(foldText(/[^\s,]+$/.exec(name.trim())?.[0] ?? ''))
  const [before = '', behind] = name.split(',')
  if (isNobody(before)) return undefined
  const [first, last] = splitPersonName(full) ?? []
  // As it is written, with middle names, where the first name is first.
  if (first !== undefined && !isOfSuffix)
    return behind === undefined && name.startsWith(first) ? name : `${first} ${last}`
  return isOfSuffix || last !== undefined || behind === undefined ? name : undefined
}

/** Returns the parts of a name of several words: what common given and family names say of them. */
function splitLongName(words: readonly string[]): readonly [first: string, last: string] | undefined {
  const joined = (at: number) => [words.slice(0, at).join(' '), words.slice(at).join(' ')] as const
  const isFamilyName = (word = '') => familyNames().has(foldText(word))
  const isParticle = (word = '') => particles.has(word.toLowerCase())
  // `Anna Maria von Stein`, `Ana Lucía Díaz`.
  const given = words.findIndex((word) => !isGivenName(word))
  if (given === 2 && (words.length === 3 || isParticle(words[2]))) return joined(2)
  const last = words.length - 2
  if (last < 1 || last > 2 || !isGivenName(words[0] ?? '')) return undefined
  return isFamilyName(words.at(-1)) && isFamilyName(words.at(-2)) && !isParticle(words.at(-2))
    ? joined(last)
    : undefined
}

const familyNames = once(() => new Set(iberianNames.flatMap((names) => names.split(' '))))

/** Where `ü` may be written as `ue`, as in `Mueller`: not in `Bauer`, `Jacques`, `Michael`, `Joe` or `Xue`. */
const spelledOutVowel = /(?<![aeiouq])(?:a(?=[ae])|o(?=e)|u(?=e))[ae](?=[b-df-hjkmnp-tv-xz]|l[a-z])/g

/**
 * Returns a person's name folded, the same for all its usual spellings: with `ü` as `u` or `ue`, with the last name first and
 * a comma, with a title or a degree.
 */
export function foldPersonName(written: string): string {
  const name = toPersonName(written)
  const at = name.indexOf(',')
  const folded = at < 0 ? foldText(name) : foldParts(name.slice(0, at), name.slice(at + 1))
  if (ascii.test(folded) && !/[aou][ae]/.test(folded) && !hasTitle.test(folded)) return folded
  const words = folded.split(' ')
  while (words.length > 2 && titles.has(words[0] ?? '')) words.shift()
  while (words.length > 2 && degrees.has(words.at(-1) ?? '')) words.pop()
  return words.join(' ').replace(spelledOutVowel, (pair) => pair.charAt(0))
}

const hasTitle = new RegExp(`^(?:${[...titles].join('|')}) | (?:${[...degrees].join('|')})$`)

/** Returns what stands before and behind the first comma of a name, as one name. */
function foldParts(before: string, behind: string): string {
  const [last, first] = [foldText(before), foldText(behind)]
  const isFirst = first !== '' && !first.split(' ').every((word) => suffixes.has(word) || degrees.has(word))
  return (isFirst ? `${first} ${last}` : `${last} ${first}`).trim()
}

const suffixes: ReadonlySet<string> = new Set('jr sr ii iii iv md esq'.split(' '))

/** Returns a company's name folded, without legal forms at its ends; one of forms alone keeps its last word. */
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

/** Letters of Western languages in their usual spelling, which most names with accents are made of. */
const accented = /^[\x20-\x7e\u00c0-\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e]*$/

/** Returns text in lower case, without accents and with the usual letters in place of composed ones. */
export function toPlainLetters(text: string): string {
  const lower = text.toLowerCase()
  if (ascii.test(lower)) return lower
  const plain = accented.test(text) ? lower : toPlainText(text).toLowerCase()
  const bare = plain.normalize('NFKD').replace(/[\u0300-\u036f]+/g, '')
  if (ascii.test(bare)) return bare
  return bare.replace(/[ßæœøłđðþıς]/g, (letter) => letters[letter] ?? letter).normalize('NFC')
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
  for (let drop = countFormWords(words); drop > 0; drop = countFormWords(words)) {
    words = words.slice(0, -drop)
    // As in `& Co. KG`.
    if (words.length > 1 && words.at(-1) === 'and') words = words.slice(0, -1)
  }
  while (words.length > 1 && leadingForms.has(words[0] ?? '')) words = words.slice(1)
  return words.join(' ')
}

/** Returns how many words at the end form one legal form; the first word never counts. */
function countFormWords(words: readonly string[]): number {
  if (words.length === 1) return 0
  const last = words.at(-1) ?? ''
  const phrase = trailingPhrases
    .get(last)
    ?.find(
      (form) => form.length < words.length && form.every((word, at) => word === words.at(at - form.length)),
    )
  return phrase?.length ?? (trailingForms().has(last) ? 1 : 0)
}

/** Removes the legal forms that are written without a space, at either end of a name. */
function removeAttachedForms(name: string): string {
  if (ascii.test(name)) return name
  let text = name.normalize('NFKC').trim()
  for (const form of legalForms.attached) {
    if (text.length > form.length && text.startsWith(form)) text = text.slice(form.length).trim()
    if (text.length > form.length && text.endsWith(form)) text = text.slice(0, -form.length).trim()
  }
  return text || name
}

/** Legal forms at the end of a company's name, folded: no accents or dots, single letters joined. */
export const trailingForms = once((): ReadonlySet<string> => new Set(legalForms.trailing))

/** Legal forms of several words at the end of a name, by their last word; longest first. */
const phrases = legalForms.trailingPhrases.map((phrase) => phrase.split(' '))
const trailingPhrases = Map.groupBy(phrases, (words) => words.at(-1))

/** Legal forms that may also begin a name, without those that are words of well-known names. */
const leadingForms: ReadonlySet<string> = new Set(legalForms.leading)

/** Words that stand for nothing in exports and spreadsheets. `Null` is a family name, `Nan` a first name. */
const nothing =
  /^\s*(?:[-–—]+|[.?]+|#?n\/a|#?N\/A|none|None|NONE|null|NULL|\\N|nan|NaN|NAN|undefined|k\. ?[aA]\.)\s*$/

/** The same in brackets, as in `(No value)`, `<NA>` and `[null]`. */
const nothingInBrackets =
  /^\s*[([<](?:blank|empty|null|none|nil|nan|n\/?a|no value|not set|unknown|undefined|leer|keine|kein wert|vide|vuoto|vac[ií]o|sin valor|non renseigné)[)\]>]\s*$/i

/** Whether a text stands for nothing. */
export const isNothing = (text: string): boolean => nothing.test(text) || nothingInBrackets.test(text)

const errorValue =
  /^\s*(?:#[¡¿]?[A-ZÀ-Þ/_]+\d?[!?]|#N\/[ABDV]|#NV|#ND|#I\/T|#GETTING_DATA|#(?:Error|Deleted|Name\?|Num!|Div\/0!|Type!|Func!)|#+|Err:\d{3}|\[object Object\]|Loading(?:\.{3}|…))\s*$/

/** Whether spreadsheets and programs write this where a value could not be computed: `#REF!`, `#¡REF!`, `#WERT!`, `#NV`. */
export const isErrorValue = (text: string): boolean => errorValue.test(text)
