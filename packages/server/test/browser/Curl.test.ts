/** What is copied as `curl` does what the page did, and today's page shows the uses of the installation's token. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { created } from "../support/ChargeRequests.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

interface Listed {
  readonly data: ReadonlyArray<{ readonly id: string }>
}

layer(TestService.layer(), { excludeTestServices: true })("Copied as curl", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-125: a list with its filters and a resource are copied as commands, without the token",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { key: otherKey } = yield* makeCaller()
        const { id } = yield* created(key, { reference: "it's $HOME" })
        yield* created(key)
        yield* created(otherKey)
        const run = async (command: string): Promise<unknown> => {
          const { stdout } = await promisify(execFile)("sh", ["-c", command.replace("curl", "curl -s")], {
            env: { PATH: process.env["PATH"], PIX_TOKEN: operatorToken }
          })
          return JSON.parse(stdout)
        }
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/charges")
          await visit.signIn(operatorToken)
          await page.goto("/charges")
          const copied = async (heading: string): Promise<string> => {
            await page.getByRole("heading", { level: 1, name: heading }).waitFor()
            await page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text }")
            await page.getByRole("button", { name: "Copy as curl" }).click()
            const command = await page.evaluate<string>("globalThis.copied")
            assert.notInclude(command, operatorToken)
            return command
          }
          const idsOf = async (command: string) => ((await run(command)) as Listed).data.map((row) => row.id)
          assert.lengthOf(await idsOf(await copied("Charges")), 3)
          await page.goto(`/charges?account_id=${accountId}&reference=${encodeURIComponent("it's $HOME")}`)
          assert.deepStrictEqual(await idsOf(await copied("Charges")), [id])
          await page.goto(`/charges/${id}`)
          assert.deepInclude(await run(await copied("R$")), { object: "charge", id })
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-195: today's page counts the uses of the installation's token of 24 hours, by every process",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/settings")
          await visit.signIn(operatorToken)
          const usesShown = async () => {
            await page.goto("/")
            return Number(/^\d+/.exec(await page.getByTitle("from the audit log").innerText())?.[0])
          }
          const before = await usesShown()
          await runPromise(
            sql`INSERT INTO audit (id, operator, action, request_id, at, via, address, after)
              -- The last stays the newest, also where a minute of the page's own uses ends meanwhile.
              SELECT uuidv7(ahead), 'operator', 'installation.use', 'r', at, 'installation', '192.0.2.7', after::json
              FROM (VALUES (now() - interval '25 hours', '{"count":500}', interval '0'),
                (now() - interval '23 hours', '{"count":40}', interval '0'),
                (now(), '{"route":"GET /x"}', interval '1 hour')) AS uses(at, after, ahead) ORDER BY at`
          )
          // The page's own requests are uses too.
          const shown = await usesShown()
          assert.isAtLeast(shown, before + 41)
          assert.isBelow(shown, before + 41 + 400)
          await page.getByText("from 192.0.2.7").waitFor()
          await page.getByTitle("from the audit log").click()
          await page.getByRole("row", { name: "installation: use of the token" }).first().waitFor()
          visit.assertNoFault()
        })
      })
  )
})
