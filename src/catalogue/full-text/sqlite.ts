import type { Texts } from './text-query.js'

/** Texts that are asked for, in the words of FTS5. */
export function written(texts: Texts): string {
  if ('phrase' in texts) return quoted(texts.phrase)
  if ('beginning' in texts) return `^ ${quoted(texts.beginning)}`
  if ('all' in texts) return `(${texts.all.map(written).join(' AND ')})`
  if ('any' in texts) return `(${texts.any.map(written).join(' OR ')})`
  if ('held' in texts) return `(${written(texts.held)} NOT ${written(texts.butNot)})`
  return `({${texts.columns.join(' ')}} : ${written(texts.hold)})`
}

const quoted = (words: string): string => `"${words.replaceAll('"', '""')}"`
