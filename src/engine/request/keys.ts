import sha256 from 'fast-sha256'
import type { Ids } from '../ports/ports.js'

/** The characters of keys. */
export const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefix = 'pk_'
const bodyLength = 32
const checkLength = 6
const format = new RegExp(`^${prefix}[0-9A-Za-z]{${bodyLength + checkLength}}$`)

/** Creates an API key: prefix, 190 random bits in base 62, and a checksum that detects a typing mistake offline. */
export function makeKey(ids: Ids): string {
  let body = ''
  while (body.length < bodyLength)
    // Bytes of 248 and above would make the first characters more likely than the others.
    for (const byte of ids.bytes(bodyLength * 2))
      if (byte < 248 && body.length < bodyLength) body += alphabet[byte % 62]
  return prefix + body + checksum(body)
}

/** Returns whether a text has the form and checksum of a key. */
export function isKey(text: string): boolean {
  return format.test(text) && checksum(text.slice(prefix.length, -checkLength)) === text.slice(-checkLength)
}

/** Returns the stored form of a key. */
export const hashKey = (key: string): string => digestOf(key).toString('hex')

/** Returns the first characters of a key: enough to recognise it, useless to an attacker. */
export const hintOf = (key: string): string => key.slice(0, prefix.length + 4)

function checksum(body: string): string {
  const digest = digestOf(`prospect key ${body}`)
  let check = ''
  for (let at = 0; at < checkLength; at++) check += alphabet[(digest[at] ?? 0) % 62]
  return check
}

/** SHA-256 without `node:crypto`: every command hashes a key, and loading that module takes an eighth of its start. */
const digestOf = (text: string): Buffer => Buffer.from(sha256.hash(Buffer.from(text)))
