/** A page of the dashboard, with what its console and axe say of it. */
import axe from "axe-core"
import type { Browser } from "playwright-core"

export const openPage = async (browser: Browser, baseURL: string) => {
  const context = await browser.newContext({ baseURL, viewport: { width: 1320, height: 860 }, locale: "en-GB" })
  context.setDefaultTimeout(15_000)
  // The page's policy does not apply to it.
  await context.addInitScript({ content: axe.source })
  const page = await context.newPage()
  /** Errors of the console, among them violations of the policy. */
  const faults: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text())
  })
  page.on("pageerror", (error) => faults.push(String(error)))
  return {
    page,
    faults,
    /** What axe finds on the page. */
    problemsOf: (): Promise<ReadonlyArray<string>> =>
      page.evaluate(async () => {
        const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
        return violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html.slice(0, 200)}`))
      })
  }
}
