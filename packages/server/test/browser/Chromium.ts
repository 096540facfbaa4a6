/**
 * One Chromium for all tests of the dashboard: a vitest `globalSetup` builds the dashboard, starts the browser and provides its
 * address as `browserUrl`.
 *
 * Guarantees:
 * - Taken in this order: `CHROME_PATH`, an installed Chrome or Chromium, the one that `pnpm run runtimes:chromium` fetches.
 * - Tests download nothing. Without a browser they are skipped, with a line that says so; with `RUNTIMES=required` they
 *   fail.
 */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { type BrowserServer, chromium } from "playwright-core"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** Of the Chromium of this run; empty where there is none. */
    readonly browserUrl: string
  }
}

export const root = join(import.meta.dirname, "../../../..")

/** Where a visit stores its pictures. */
export const pictures = join(root, ".vitest/dashboard")

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

/** Starts the browser; `undefined` where there is none. */
export const launch = async (): Promise<BrowserServer | undefined> => {
  const executable = process.env["CHROME_PATH"] ?? installed() ?? (await fetched())
  if (executable === undefined) return undefined
  return chromium.launchServer({
    host: "127.0.0.1",
    executablePath: executable,
    timeout: 180_000,
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

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The service reads the built files as it starts.
  execFileSync(process.execPath, [join(root, "packages/dashboard/build.mjs")], { stdio: "inherit" })
  const server = await launch()
  project.provide("browserUrl", server?.wsEndpoint() ?? "")
  if (server === undefined) {
    if (process.env["RUNTIMES"] === "required") throw new Error("no Chrome or Chromium: pnpm run runtimes:chromium")
    process.stderr.write(
      "The dashboard is not tested: no Chrome or Chromium here. Set CHROME_PATH, or pnpm run runtimes:chromium\n"
    )
    return async () => {}
  }
  return () => server.close()
}
