/** The Portuguese page: no English of the server, no whole id where a person reads, and nothing that only a machine says. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { dashboardPages } from "./DashboardPages.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

/** What the service says in English, or by the name that a program knows. Names that a test gives are others. */
const ENGLISH =
  /\b(?:operator|admin|viewer|developer|[Ss]imulator(?!\.test)|bacen|value too long|installation|true|false|null|undefined)\b|(?:Método|Origem)\s+[a-z]+\b/g

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g
const PLAIN_DOCUMENT = /(?<![\d.-])\d{11}(?![\d.-])/g

/** Pages whose rows quote PostgreSQL. */
const QUOTES = new Set(["outbox-failures"])

layer(TestService.layer({ settings }), { excludeTestServices: true })("Portuguese", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "every page in Portuguese has the words of a person: roles, origins, banks, documents and resources by name",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(world.adminToken)
          await page.getByRole("button", { name: "Português" }).click()
          const found: Array<string> = []
          for (const { heading, inPortuguese = heading, name, path } of dashboardPages) {
            await page.goto(path(world))
            await page.getByRole("heading", { level: 1, name: inPortuguese }).waitFor()
            await page.locator("[data-loading]").first().waitFor({ state: "detached" })
            // The head has the whole id, to be copied.
            await page.locator(".head > .id").evaluateAll((ids) => ids.forEach((id) => id.remove()))
            const text = await page.getByRole("main").innerText()
            for (const pattern of [...(QUOTES.has(name) ? [] : [ENGLISH]), UUID, PLAIN_DOCUMENT]) {
              found.push(...(text.match(pattern) ?? []).map((words) => `${name}: ${words}`))
            }
          }
          assert.deepStrictEqual([...new Set(found)], [])
          visit.assertNoFault()
        })
      })
  )
})
