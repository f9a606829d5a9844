const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Legal forms that end a company's name, folded: no accents, no dots, single letters run together. */
export const trailingForms: ReadonlySet<string> = words(`
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
export const leadingForms: ReadonlySet<string> = words(`
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
