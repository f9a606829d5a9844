/**
 * The address that a text is; nothing where it is none. `URL.canParse` is used nowhere: in Node 20 and 22 it comes to
 * refuse every host with an accented letter once it was called some thousand times.
 */
export function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
