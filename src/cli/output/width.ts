import fastStringWidth from 'fast-string-width'

/** Returns the width of a text in columns: two for wide scripts and emoji, none for combining marks. */
export const widthOf = (text: string): number => fastStringWidth(text)
