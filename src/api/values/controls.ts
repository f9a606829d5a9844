// Control characters and marks of text direction: a terminal or a page would obey them instead of showing them.
const controls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029](?<![\n\t])/gu

const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns text with control characters as `\uXXXX`, except line breaks and tabs. In JSON, its value stays the same. */
export const escapeControls = (text: string): string => text.replace(controls, toEscape)
