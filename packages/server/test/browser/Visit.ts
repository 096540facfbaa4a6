/**
 * A visit to the dashboard in a real browser. This is all that a test of a page needs:
 *
 * ```ts
 * layer(TestService.layer(), { excludeTestServices: true })("Approvals", (it) => {
 *   it.effect.skipIf(!hasBrowser)("…", () =>
 *     Effect.gen(function* () {
 *       const { operatorToken, operatorUrl } = yield* TestService
 *       yield* visiting(operatorUrl, async (visit) => {
 *         await visit.signIn(operatorToken)
 *         await visit.inspect("approvals", "/approvals", "Approvals")
 *         await visit.press("Approve")
 *         await visit.submit("Approve", { Reason: "checked" })
 *         visit.assertNoFault()
 *       })
 *     })
 *   )
 * })
 * ```
 *
 * - Run with `vitest run --project browser packages/server/test/browser/X.test.ts`. All files share one Chromium.
 * - `inspect` opens a page in light and dark and at 360 px. It asserts that axe finds nothing, that the console has no error and
 *   that nothing is wider than the screen. With `PICTURES=1` its pictures are in `.vitest/dashboard`, named `NAME-light.png`,
 *   `NAME-dark.png` and `NAME-narrow.png`; git ignores them.
 * - `pnpm run dashboard:pictures` compresses the pictures that the documents show into `docs/images` (`pictures.ts`).
 */
import { assert } from "@effect/vitest"
import axe from "axe-core"
import * as Effect from "effect/Effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core"
import { expect, inject } from "vitest"
import { pictures } from "./Chromium.ts"

const browserUrl = inject("browserUrl")

/** False where the machine has no browser: the tests are skipped. */
export const hasBrowser = browserUrl !== ""

/** A press of the mouse is a click, a choice two (one opens it), and so are files one. */
const COUNT_CLICKS = `
  // Not on the window, where Playwright stops a press that would miss, and repeats it.
  document.addEventListener("pointerdown", () => clicked(), true)
  addEventListener("change", ({ target }) => {
    if (target.matches("select, input[type=file]")) clicked()
    if (target.matches("select")) clicked()
  }, true)`

/** A picture takes longer than all that is tested of it. */
const isPictured = process.env["PICTURES"] === "1"

const DESKTOP = { width: 1280, height: 860 }
const PHONE = { width: 360, height: 800 }
const PATIENCE_MS = 120_000

export interface Visit {
  readonly page: Page
  readonly signIn: (token: string) => Promise<void>
  /** Opens a path as a new visit would, in each form, and looks at it. */
  readonly inspect: (name: string, path: string, heading: string | RegExp) => Promise<void>
  /** Opens a path as a new visit would, in light only, and looks at it; then measures its width at 360 px. */
  readonly glance: (name: string, path: string, heading: string | RegExp) => Promise<void>
  /** Looks at what is shown now, for example an open dialog. */
  readonly look: (name: string) => Promise<void>
  /** Presses a button of the page. */
  readonly press: (button: string) => Promise<void>
  /** Goes to a page by `g` and its letter: again, where the letter came later than the page waits for it. */
  readonly jump: (letter: string, path: string) => Promise<void>
  /** Waits for a row, which is the next one of the page, and moves the focus to it with the keyboard. */
  readonly focusRow: (name: string) => Promise<void>
  /** The same, and opens it. */
  readonly openFirstRow: (name: string) => Promise<void>
  /** Fills fields of the open dialog by their labels, and presses its button. */
  readonly fill: (button: string, values?: Readonly<Record<string, string>>) => Promise<void>
  /** The same, and waits until the dialog has closed. */
  readonly submit: (button: string, values?: Readonly<Record<string, string>>) => Promise<void>
  /** Does a task that begins on the first page, and takes this many clicks. Keys and what is typed are none. */
  readonly task: (clicks: number, use: () => Promise<void>) => Promise<void>
  /** The console has no error so far, and thus no violation of the page's policy. */
  readonly assertNoFault: () => void
  /** Forgets the errors so far: a browser logs each answer of 400 and above. */
  readonly forgetFaults: () => void
}

/** A visit of a browser without cookies, which ends with `use`. */
export const visiting = <A>(operatorUrl: string, use: (visit: Visit) => Promise<A>): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.promise(() => chromium.connect(browserUrl)),
    (browser) =>
      Effect.promise(async () => {
        mkdirSync(pictures, { recursive: true })
        const context = await newContext(browser, operatorUrl)
        const visit = await newVisit(context)
        try {
          return await use(visit)
        } catch (cause) {
          const shown = await visit.page.locator("body").innerText()
          throw new Error(`${cause}\nThe page showed ${visit.page.url()}:\n${shown}`, { cause })
        }
      }),
    (browser) => Effect.promise(() => browser.close())
  )

const newContext = async (browser: Browser, baseURL: string): Promise<BrowserContext> => {
  const context = await browser.newContext({ baseURL, viewport: DESKTOP, locale: "en-GB", reducedMotion: "reduce" })
  context.setDefaultTimeout(120_000)
  // The page's policy does not apply to it.
  await context.addInitScript({ content: axe.source })
  return context
}

const newVisit = async (context: BrowserContext): Promise<Visit> => {
  const page = await context.newPage()
  const faults: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text())
  })
  let clicks = 0
  await page.exposeFunction("clicked", () => {
    clicks += 1
  })
  await page.addInitScript(COUNT_CLICKS)
  page.on("pageerror", (error) => faults.push(String(error)))

  const look = async (name: string) => {
    if (isPictured) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
    assert.deepStrictEqual(await problemsOf(page), [], name)
  }
  const fill = async (button: string, values: Readonly<Record<string, string>> = {}) => {
    const dialog = page.getByRole("dialog")
    for (const [label, value] of Object.entries(values)) {
      const field = dialog.getByLabel(label, { exact: true })
      const isChoice = (await field.evaluate((element) => element.nodeName)) === "SELECT"
      await (isChoice ? field.selectOption(value) : field.fill(value))
    }
    await dialog.getByRole("button", { name: button, exact: true }).click()
  }
  const open = async (path: string, heading: string | RegExp) => {
    await page.emulateMedia({ colorScheme: "light" })
    await page.goto(path)
    await page.getByRole("heading", { level: 1, name: heading }).waitFor()
    await page.locator("[data-loading]").first().waitFor({ state: "detached" })
  }
  const onPhone = async (name: string, use: () => Promise<void> = async () => {}) => {
    await page.setViewportSize(PHONE)
    assert.isAtMost(await widthOf(page), PHONE.width, `${name} is wider than the screen`)
    assert.deepStrictEqual(await cutTables(page), [], `${name} cuts off its tables`)
    await use()
    await page.setViewportSize(DESKTOP)
  }
  // The same text may be elsewhere on the page, before the rows are there.
  const focusRow = async (name: string) => {
    const row = page.getByRole("main").locator("a.row", { hasText: name }).first()
    await row.waitFor()
    await page.keyboard.press("j")
    assert.isTrue(await row.evaluate((element) => element.matches(":focus")), `j leads to ${name}`)
  }
  const assertNoFault = () => assert.deepStrictEqual(faults, [])

  return {
    page,
    look,
    fill,
    assertNoFault,
    task: async (expected, use) => {
      await open("/", /^(Today|Hoje)$/)
      clicks = 0
      await use()
      assert.strictEqual(clicks, expected, "clicks")
    },
    forgetFaults: () => {
      faults.length = 0
    },
    signIn: async (token) => {
      if (page.url() === "about:blank") await page.goto("/")
      await page.getByLabel("Token").fill(token)
      await page.getByRole("button", { name: "Sign in", exact: true }).click()
      await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "attached" })
    },
    inspect: async (name, path, heading) => {
      await open(path, heading)
      await look(`${name}-light`)
      await page.emulateMedia({ colorScheme: "dark" })
      await look(`${name}-dark`)
      await page.emulateMedia({ colorScheme: "light" })
      await onPhone(name, () => look(`${name}-narrow`))
      assertNoFault()
    },
    glance: async (name, path, heading) => {
      await open(path, heading)
      await look(name)
      await onPhone(name)
      assertNoFault()
    },
    jump: async (letter, path) => {
      for (let isThere = false; !isThere;) {
        await page.keyboard.press("g")
        await page.keyboard.press(letter)
        const arrival = page.waitForURL(`**${path}`, { timeout: 2000, waitUntil: "commit" })
        isThere = await arrival.then(
          () => true,
          () => false
        )
      }
    },
    press: (button) => page.getByRole("main").getByRole("button", { name: button, exact: true }).first().click(),
    focusRow,
    openFirstRow: async (name) => {
      await focusRow(name)
      await page.keyboard.press("Enter")
    },
    submit: async (button, values) => {
      await fill(button, values)
      const dialog = page.getByRole("dialog")
      await dialog.waitFor({ state: "hidden" }).catch(async (error: unknown) => {
        throw new Error(`the dialog stays open: ${await dialog.innerText()}`, { cause: error })
      })
    }
  }
}

/** Waits until the elements have exactly these texts: parts of a page arrive one after another. Any white space is one space. */
export const waitForTexts = (elements: Locator, texts: ReadonlyArray<string>): Promise<void> =>
  expect.poll(async () => (await elements.allInnerTexts()).map(plain), { timeout: PATIENCE_MS }).toEqual(texts)

/** Waits until there are exactly so many elements. */
export const waitForCount = (elements: Locator, count: number): Promise<void> =>
  expect.poll(() => elements.count(), { timeout: PATIENCE_MS }).toBe(count)

/** A text with one space for any white space. */
export const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** What axe finds on the page. */
const problemsOf = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
    return violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html.slice(0, 200)}`))
  })

/** The tables that are wider than what is around them, which hides the rest. */
export const cutTables = (page: Page): Promise<ReadonlyArray<string>> =>
  page.locator("table").evaluateAll((tables) =>
    tables.flatMap((table) => {
      const { innerText, parentElement, scrollWidth } = table as unknown as {
        readonly innerText: string
        readonly scrollWidth: number
        readonly parentElement: { readonly clientWidth: number }
      }
      // A table in closed details has no text.
      return innerText !== "" && scrollWidth > parentElement.clientWidth ? [innerText.slice(0, 80)] : []
    })
  )

const widthOf = (page: Page): Promise<number> =>
  page.locator("html").evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth)
