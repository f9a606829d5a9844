/** Shortest text that is hidden wherever it occurs; a shorter one would also hide ordinary words. */
const leastLength = 8

const known = /\b(?:pk_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{16,})/g

/** Hides the keys it is told of, and whatever has the form of a key or a signing secret of ours. */
export function createRedaction(...first: readonly (string | undefined)[]) {
  const secrets = new Set(first)
  return {
    remember: (secret: string) => void secrets.add(secret),
    redact: (text: string): string => {
      let safe = text
      for (const secret of secrets)
        if (secret !== undefined && secret.length >= leastLength) safe = safe.replaceAll(secret, '[key]')
      return safe.replace(known, '[key]')
    },
  }
}
