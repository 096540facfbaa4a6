/** `scripts/progress.mjs`: what the first start shows while it downloads. */
import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { vi } from "vitest"

interface Progress {
  readonly progressOf: (output: string) => string | undefined
  readonly showProgress: (
    stream: { readonly isTTY?: boolean; readonly write: (text: string) => void },
    textOf: () => string | undefined
  ) => () => void
}

const file = join(import.meta.dirname, "../../../../scripts/progress.mjs")
const { progressOf, showProgress } = (await import(pathToFileURL(file).href)) as Progress

/** What a stream has got after so many seconds of a step, and its end. */
const shown = (isTTY: boolean, seconds: number): string => {
  vi.useFakeTimers()
  try {
    let written = ""
    let output = ""
    const stream = { isTTY, write: (text: string) => (written += text) }
    const end = showProgress(stream, () => progressOf(output))
    vi.advanceTimersByTime(1000)
    output = "Progress: resolved 412, reused 20, downloaded 143, added 120\n"
    vi.advanceTimersByTime((seconds - 1) * 1000)
    end()
    vi.advanceTimersByTime(60_000)
    return written
  } finally {
    vi.useRealTimers()
  }
}

describe("The progress of an install", () => {
  it("is the last that pnpm printed", () => {
    const lines = ["1, reused 0, downloaded 0, added 0", "412, reused 20, downloaded 143, added 120"]
    assert.isUndefined(progressOf("Lockfile is up to date"))
    assert.strictEqual(
      progressOf(lines.map((line) => `Progress: resolved ${line}\n`).join("") + "Packages: +412"),
      "163 of 412 packages"
    )
  })

  it("is one line of a terminal that changes each second, and is gone at the end", () => {
    assert.strictEqual(shown(true, 2), "\r\u001B[K    1 s\r\u001B[K    163 of 412 packages 2 s\r\u001B[K")
  })

  it("is a line each ten seconds where nobody sees a line change", () => {
    assert.strictEqual(shown(false, 25), "    163 of 412 packages 10 s\n    163 of 412 packages 20 s\n")
  })
})
