/** Marks of what is hidden, as in `j***@acme.example`. */
export const mask = /[*•●…]/
const hiddenMailbox = /\.{2,}|x{3,}/

/** Mailboxes that stand for an address which the vendor does not give, and those of examples. */
const noMailbox =
  /^(?:e?mail[._-]?)?(?:not|no|un)[._-]?(?:unlocked|found|available|known|e?mail|verified)$|^(?:locked|hidden|redacted|masked|placeholder|null|none|undefined)$/
const exampleMailbox =
  /^(?:e?mail|name|user|you|your[._-]?(?:e?mail|name)|first[._-]?(?:name[._-]?)?last[._-]?(?:name)?)$/
const exampleDomain = /^(?:domain|example|company|email|yourdomain|yourcompany)\.(?:com|net|org)$/

/** Whether an address only stands for one, so that nothing was found. */
export function isNoAddress(email: string): boolean {
  const [mailbox = '', domain = ''] = email.split('@')
  if (mask.test(email) || hiddenMailbox.test(mailbox)) return true
  return noMailbox.test(mailbox) || (exampleMailbox.test(mailbox) && exampleDomain.test(domain))
}
