import { expect, it } from 'vitest'
import { perFile } from '../../support/each.js'
import { openWith } from '../open.js'

const catalogue = perFile(() =>
  openWith([
    {
      domain: 'acme.example',
      technology_details: [
        { slug: 'redis', name: 'Redis', confidence: 0.4 },
        { slug: 'react', name: 'React', confidence: 0.9 },
      ],
    },
    { domain: 'birch.example', technologies: ['react'] },
    { domain: 'bare.example' },
  ]),
)

it('returns the technologies of a company by falling confidence', async () => {
  expect(await catalogue.stack({ domain: 'acme.example' })).toEqual([
    { name: 'React', slug: 'react', confidence: 0.9 },
    { name: 'Redis', slug: 'redis', confidence: 0.4 },
  ])
})

it('returns confidence 1 for a technology that was imported by its slug alone', async () => {
  expect(await catalogue.stack({ domain: 'birch.example' })).toEqual([
    { name: 'React', slug: 'react', confidence: 1 },
  ])
})

it('returns an empty list for a company without technologies, and undefined for an unknown one', async () => {
  expect(await catalogue.stack({ domain: 'bare.example' })).toEqual([])
  expect(await catalogue.stack({ domain: 'ghost.example' })).toBeUndefined()
})
