import { describe, expect, it } from 'vitest'
import { Refusal } from '../../../src/api/calls/errors.js'
import type { ImportOptions } from '../../../src/catalogue/kinds/kind.js'
import { perTest } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { bytesOf, exported, openEmpty } from '../open.js'

const catalogue = perTest(openEmpty)

const take = (text: string | Uint8Array, options?: ImportOptions) =>
  catalogue.importFile('companies', bytesOf(text, text.length > 1_000_000 ? 65_536 : 7), options)
const domains = async () => (await exported(catalogue, 'companies')).map(({ domain }) => domain)
const names = async () => (await exported(catalogue, 'companies')).map(({ name }) => name)

async function refusal(text: string | Uint8Array, options?: ImportOptions): Promise<Refusal> {
  const error = await take(text, options).catch((thrown: unknown) => thrown)
  if (!(error instanceof Refusal)) throw new Error(`no refusal, but ${JSON.stringify(error)}`)
  return error
}

describe('a file to import', () => {
  it.each([
    ['<html><body><table>', 'This is a web page or XML, not CSV. Export its table as CSV.'],
    ['\u0001\u0002\u0003\u0004', 'This is a binary file, not text. Give an .xlsx or CSV file.'],
  ])('is refused by name when it is no table: %j', async (text, sentence) => {
    await expect(inWords(() => take(text))).rejects.toThrow(sentence)
  })

  it('is decoded with the encoding option', async () => {
    await take(Buffer.from('name,domain\nAcm\xe9,acme.example\n', 'latin1'), { encoding: 'windows-1252' })
    expect(await names()).toEqual(['Acmé'])
  })
})

describe('an import of an invalid file', () => {
  it('keeps and counts the records before the error', async () => {
    const error = await refusal('name,domain\nAcme,acme.example\n"Birch,birch.example\n')
    expect(error.details.report).toMatchObject({ added: 1, updated: 0 })
    expect(await domains()).toEqual(['acme.example'])
  })

  it('stops at a cell that never ends before it fills the memory', async () => {
    const error = await refusal(`name,domain\nAcme,acme.example\n"${'x'.repeat(2_000_000)}`)
    expect(error.details.line).toBe(3)
  })

  it.each<[string, string, ImportOptions, string]>([
    ['an empty file', '', {}, 'empty'],
    ['a header that identifies nothing', 'Owner,Notes\nMarie,x', {}, 'domain'],
    ['a field that there is not', 'a,b\n', { map: { domian: 'a' } }, 'domian'],
    ['a field that only every object has', 'a,b\n', { map: { constructor: 'a' } }, 'constructor'],
    ['a column that there is not', 'a,b\n', { map: { domain: 'c' } }, "'c'"],
    ['an unknown encoding', 'a,b\n', { encoding: 'klingon' }, 'klingon'],
    ['an array that does not end', '[{"domain":"acme.example"},', {}, 'bracket'],
  ])('fails for %s', async (_, text, options, word) => {
    await expect(inWords(() => take(text, options))).rejects.toThrow(word)
  })
})
