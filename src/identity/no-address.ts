const mask = /[*•●…\u2580-\u259f■◼]/

/** Whether a text has marks of what is hidden, as in `j***@acme.example`. */
export const isMasked = (text: string): boolean => mask.test(text)

const hiddenMailbox =
  /\.{2,}|x{3,}|_{3,}|[?{}[\]<>]|#{2,}|-{3,}|^%.*%|^\$[a-z]|(?:^|[._-])(?:unlock|paywall|gdpr|reveal)(?:[._-]|$)/

/** Mailboxes that stand for an address which the vendor does not give, and those of examples. */
const noMailbox = new RegExp(
  [
    '^(?:(?:e?mail|contact|address|person|profile)[._-]?)?(?:not|no|un)[._-]?' +
      '(?:unlocked|found|available|known|provided|given|set|e?mail|address|verified)' +
      '(?:[._-]?(?:found|available|known|provided|given|yet|address))?$',
    '^(?:placeholder|null|none|undefined|request)$',
    '^(?:e?mail[._-]?)?(?:locked|hidden|protected|restricted|masked|redacted)(?:[._-]?e?mail)?$',
    '^(?:upgrade|click|tap|log-?in|sign-?in|pay|request)[._-](?:to|for)[._-][a-z]+$',
    '^upgrade(?:[._-](?:now|plan|me|e?mail))?$',
    '^subscribe[._-]to[._-][a-z]+$',
    '^premium(?:[._-]only)?$',
    '^(?:available[._-])?(?:on|upon)[._-]request$',
    '^(?:show|view|see|get)[._-]e?mail$',
    '^your[._-]?(?:e?mail|name)$',
    // What a pattern of names is written as: `first.last`, `nachname.vorname`.
    '^(?:f|first|v|vorname|prenom|p|name|nombre|nome|voornaam|imie)[._-]?(?:name)?[._-]?' +
      '(?:last|nachname|nom|apellidos?|cognome|achternaam|surname|nazwisko)[._-]?(?:name)?$',
    '^(?:nachname|last[._-]?name|nom|apellido|cognome|surname)[._-](?:vorname|first[._-]?name|prenom|nombre|nome|name)$',
    '^first[._-]?initial[._-]?last(?:[._-]?name)?$',
    '^given[._-]?(?:name)?[._-]family(?:[._-]?name)?$',
    '^(?:vorname|nachname|firstname|lastname|prenom)$',
  ].join('|'),
)
/** Domains that stand for one that is hidden. */
const hiddenDomain =
  /^(?:hidden|locked|masked|redacted|protected|not-?found|no-?e?mail|unknown)\.(?:com|net|org|io)$/
const exampleMailbox =
  /^(?:e?mail|name|user(?:name)?|you|test(?:[._-]?(?:user|mail|email))?\d*|(?:john|jane)[._-]?doe|example|sample|demo|foo|someone|somebody|abc|xyz|asdf)$/
const exampleDomain =
  /^(?:domain|example|company|e?mail|test|sample|demo|foo|your[._-]?domain|your[._-]?company|my[._-]?company|website|abc|xyz|asdf)\.(?:com|net|org|de|fr|co|io|invalid|test)$/

/** One letter or digit for all: `xx@xx.xx`. */
const sameLetter = /^([a-z\d])\1*@\1+\.(?:\1+|[a-z]{2,4})$/

/** Mailboxes at which nobody reads: no person's. */
const robot =
  /^(?:no|do[._-]?not|not|never|ne[._-]?pas)[._-]?(?:reply|respond|repondre)(?:[._+-].*)?$|^(?:mailer-daemon|postmaster|bounces?(?:[._+-].*)?)$/

/** Whether an address is one at which nobody reads, such as `noreply@acme.example`. Its domain may be a company's. */
export const isRobot = (email: string): boolean => robot.test(email.split('@', 1)[0] ?? '')

/** What is written in place of a value that has to be paid for: `Upgrade to view`, `🔒 Unlock`. */
const offer =
  /\b(?:upgrade|unlock|locked|reveal|subscribe|sign ?up|sign ?in|log ?in|premium|paid plan|pro plan|your plan|get access|access (?:denied|restricted)|restricted|hidden|masked|redacted|withheld|protected|available (?:on|in|with|for)|(?:click|tap|pay|request|contact (?:us|sales)|use \d* ?credits?|buy credits?|no credits?|out of credits) ?(?:to|for|here)?)\b|🔒|🔐/iu

/** Whether a text only offers a value. */
export const isOffer = (text: string): boolean =>
  text.length <= 120 && !/@|[<>{}]|\d{5}/.test(text) && offer.test(text)

/** Whether an address only stands for one, so that nothing was found. */
export function isNoAddress(email: string): boolean {
  const [mailbox = '', domain = ''] = email.split('@')
  if (isMasked(email) || hiddenMailbox.test(mailbox) || hiddenDomain.test(domain)) return true
  if (sameLetter.test(email)) return true
  return noMailbox.test(mailbox) || (exampleMailbox.test(mailbox) && exampleDomain.test(domain))
}
