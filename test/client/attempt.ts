import type { DeliveryAttempt } from '../../src/api/ports/ports.js'

/** A signing secret of 24 bytes. */
export const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

/** An attempt at a url with nothing permitted that is not public. */
export const attempt = (url: string): DeliveryAttempt => ({
  url,
  id: 'msg_1',
  timestamp: Date.parse('2026-03-10T12:00:00Z'),
  body: '{"event":"lead_search.completed"}',
  secrets: [secret],
  allow: [],
  loopback: false,
})
