/** `Host` values that our servers refuse, and the status they get. `PORT` is the port of the server. */
import { casesOf } from '../support/fixtures.js'
export const refusedHosts: readonly (readonly [host: string, status: number])[] =
  casesOf<[host: string, status: number]>('http/strangers/hosts')

/** Header lines with no host or with more than one, and the status they get. */
export const refusedHeads: readonly (readonly [what: string, headers: readonly string[], status: number])[] =
  [
    ['no Host', [], 400],
    ['two Hosts', ['Host: localhost:PORT', 'Host: evil.example'], 400],
    ['two Hosts, the wrong one first', ['Host: evil.example', 'Host: localhost:PORT'], 400],
    ['the same Host twice', ['Host: localhost:PORT', 'hOST: localhost:PORT'], 400],
    [
      'a second Host behind thousands of headers',
      ['Host: localhost:PORT', ...Array(2_500).fill('a:'), 'Host: e'],
      400,
    ],
    [
      'another name in X-Forwarded-Host only',
      ['Host: evil.example', 'X-Forwarded-Host: localhost:PORT'],
      403,
    ],
  ]
