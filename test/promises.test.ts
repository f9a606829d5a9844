import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const textOf = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8')

/** The rows of the tables in README.md: the numbers of promises, and the tests that hold them. */
const promises = [...textOf('README.md').matchAll(/^\| (P\d.*?) \| .+? \| (.+) \|$/gm)].map(
  ([, numbers = '', cell = '']) => ({
    numbers,
    tests: cell.split('<br>').map((one) => {
      const [, file, title] = /^`([\w/-]+)`: (.+)$/.exec(one) ?? []
      return { file: file ?? one, title: title ?? '' }
    }),
  }),
)

/** `P09–P11` is three of them. */
function* numbersOf(text: string): Iterable<number> {
  for (const part of text.split(', ')) {
    const [first = 0, last = first] = part.split('–').map((number) => Number(number.slice(1)))
    for (let number = first; number <= last; number++) yield number
  }
}

/** Whether a file gives a test this title. A test that is left out, or that only its comments name, is none. */
function isTest(text: string, title: string): boolean {
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("'", String.raw`\\?'`)
  const named = new RegExp(String.raw`(\S*)\(\s*(['"\`])${escaped}\2,`, 'g')
  return [...text.matchAll(named)].some(
    ([, called = '']) => !/\b(skip|todo|describe)\b/.test(called) && /\b(it|test)\b|\)$/.test(called),
  )
}

describe('the promises of README.md', () => {
  it('are all there, each in one row', () => {
    const given = promises.flatMap(({ numbers }) => [...numbersOf(numbers)]).sort((one, other) => one - other)
    // Given up, or part of another one.
    const without = [12, 39, 42, 45, 46, 47]
    const all = Array.from({ length: 65 }, (_, at) => at + 1).filter((number) => !without.includes(number))
    expect(given).toEqual(all)
  })

  it.each(promises)('are held by tests that exist: $numbers', ({ tests }) => {
    const missing = tests.filter(({ file, title }) => {
      const path = `${file}.test.ts`
      return !existsSync(join(import.meta.dirname, path)) || !isTest(textOf(path), title)
    })
    expect(missing).toEqual([])
  })
})
