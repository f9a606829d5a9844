import { it } from 'vitest'
import { forgottenBy } from '../../src/catalogue/forgotten.js'
import { leftOf } from '../../src/engine/admin/forget-job.js'
import { leadOf, accountOf, personOf } from '../helpers/engine.js'
it('takes', () => {
  const who = forgottenBy({
    keys: [], emails: ['jane.doe@acme.example', 'jane77@mail.example'], phones: ['+33639980077'], slugs: ['jane-doe-77'], ids: ['ACoAAabcdefghijklmnopqrstuvwxyz012345678', '6b5d2f3e-0000-4000-8000-000000000002'],
    people: [{ name: 'jane doe', written: ['Jane Doe'], companies: new Set(['acme.example', 'acme']), identities: ['person:name:jane doe:company:domain:acme.example'], slugs: ['jane-doe-77'], ids: [] }],
  })
  const texts = Array.from({ length: 20000 }, (_, at) => JSON.stringify({ lead: leadOf(personOf(`person-${at}`, 'known.example')), company: { ...accountOf('known.example'), description: 'We make things of many kinds for people who like them, everywhere in the world. '.repeat(3) } }))
  for (let round = 0; round < 3; round++) {
    let at = performance.now()
    let n = 0
    for (const text of texts) if (leftOf(who, text) !== text) n++
    console.log('left', (performance.now() - at) / 20, 'us', n, texts[0]?.length)
    at = performance.now()
    for (const text of texts) JSON.parse(text)
    console.log('parse', (performance.now() - at) / 20, 'us')
  }
})
