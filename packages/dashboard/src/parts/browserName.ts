/** A browser's name and system, from what it calls itself; the whole text where neither is known. */
export const browserName = (userAgent: string): string => {
  const names = [BROWSERS, SYSTEMS].flatMap((known) => known.find(([pattern]) => pattern.test(userAgent))?.[1] ?? [])
  return names.length === 0 ? userAgent : names.join(", ")
}

type Known = ReadonlyArray<readonly [pattern: RegExp, name: string]>

/** In this order: each names those below it as well. */
const BROWSERS: Known = [
  [/\bEdg(?:A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"]
]

const SYSTEMS: Known = [
  [/Windows/, "Windows"],
  [/Android/, "Android"],
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"]
]
