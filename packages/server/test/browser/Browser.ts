/**
 * A Chromium for tests of the dashboard.
 *
 * Guarantees:
 * - Taken in this order: `CHROME_PATH`, an installed Chrome or Chromium, the one that `pnpm run runtimes:install` fetches.
 * - Tests download nothing. Without a browser they are skipped, with a line that says so; with `RUNTIMES=required` they
 *   fail.
 */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Browser, chromium } from "playwright-core"

const NAMES = ["google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome"]
const MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

const installed = (): string | undefined =>
  [
    ...(process.env["PATH"] ?? "").split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name))),
    MAC
  ].find(existsSync)

/** The package unpacks its libraries where this variable names an AWS Lambda, which lacks them as a bare machine does. */
const fetched = async (): Promise<string | undefined> => {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined
  try {
    const entry = createRequire(join(import.meta.dirname, "chromium/package.json")).resolve("@sparticuz/chromium")
    process.env["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x"
    const { default: packaged } = (await import(pathToFileURL(entry).href)) as {
      default: { executablePath: () => Promise<string> }
    }
    return await packaged.executablePath()
  } catch {
    return undefined
  }
}

const executable = process.env["CHROME_PATH"] ?? installed() ?? (await fetched())

export const hasBrowser = executable !== undefined || process.env["RUNTIMES"] === "required"
if (!hasBrowser) {
  process.stderr.write(
    "The dashboard is not tested: no Chrome or Chromium here. Set CHROME_PATH, or pnpm run runtimes:install\n"
  )
}

export const launch = (): Promise<Browser> => {
  if (executable === undefined) throw new Error("no Chrome or Chromium: pnpm run runtimes:install")
  return chromium.launch({
    executablePath: executable,
    args: [
      // Needed as root. The only pages are our own.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })
}
