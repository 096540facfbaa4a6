/** The Portuguese page: no English of the server, no whole id where a person reads, and nothing that only a machine says. */
import { assert, layer } from "@effect/vitest"
import { type CredentialsInput, makeCredentials } from "@pix-payments/api-pix/Credentials"
import {
  CertificateRejected,
  CredentialsRejected,
  type Failure,
  NotFound,
  NotSent,
  RateLimited,
  Refused,
  ScopeMissing,
  Unclear
} from "@pix-payments/api-pix/Outcome"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import * as Redacted from "effect/Redacted"
import { describeFailure } from "../../src/providers/connections/ConnectionCheck.ts"
import { startDouble } from "../support/Bank.ts"
import { connectTo } from "../support/Connections.ts"
import { funded, operated, paidCharge } from "../support/Money.ts"
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
/** By itself: the digits of a txid may have eleven figures in a row. */
const PLAIN_DOCUMENT = /(?<![\w.-])\d{11}(?![\w.-])/g

/** What the return of a charge may answer. */
const REFUSALS = [
  "VALIDATION_ERROR",
  "AMOUNT_BELOW_MINIMUM",
  "INVALID_STATE",
  "INSUFFICIENT_BALANCE",
  "ACQUIRER_REJECTED",
  "IDEMPOTENCY_KEY_REUSED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE"
] as const

/** A sentence of the service, where a code would be none. */
const SENTENCE = /\b(?:the|is|was|were|of|not|with)\b/i

/** What a bank may answer to a check. */
const FAILURES: ReadonlyArray<Failure> = [
  new CertificateRejected({ operation: "token", whose: "theirs", evidence: "verification", code: "E1" }),
  new CertificateRejected({ operation: "token", whose: "ours", evidence: "alert", code: "E2" }),
  new CertificateRejected({ operation: "token", whose: "ours", evidence: "closed-twice", code: "E3" }),
  new CredentialsRejected({ operation: "token", code: "E4" }),
  new ScopeMissing({ operation: "find", missing: ["cob.read"] }),
  new RateLimited({ operation: "find", retryAfterMs: 1500 }),
  new NotSent({ operation: "find", reason: "no-connection", detail: undefined }),
  new NotSent({ operation: "find", reason: "circuit-open", detail: undefined }),
  new Unclear({ operation: "find", kind: "connection-cut", reason: "ECONNRESET" }),
  new Refused({ operation: "find", code: "E5", status: 400, detail: "valor inválido" }),
  new NotFound({ operation: "find", code: "E6" })
]

const STEPS = ["certificate", "token", "scopes", "clock", "pix_key", "webhook", "answers"]

const NO_PEM: CredentialsInput = {
  clientId: "client",
  certificate: { _tag: "Pem", cert: "nothing", key: Redacted.make("nothing") }
}

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
            if (name === "audit") found.push(...(text.match(/\b[a-z]+_[a-z_]+\b/g) ?? []))
            for (const pattern of [...(QUOTES.has(name) ? [] : [ENGLISH]), UUID, PLAIN_DOCUMENT]) {
              found.push(...(text.match(pattern) ?? []).map((words) => `${name}: ${words}`))
            }
          }
          assert.deepStrictEqual([...new Set(found)], [])
          visit.assertNoFault()
        })
      }),
    1_800_000
  )

  it.effect.skipIf(!hasBrowser)(
    "a refusal is in Portuguese, whatever the server's code, and a field says what it accepts",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* funded(5000)
        const { id } = yield* paidCharge(key, 3000)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.getByRole("button", { name: "Português" }).click()
          await page.getByRole("link", { name: "Cobranças" }).waitFor()
          await page.goto(`/charges/${id}`)
          await visit.press("Devolver")
          const dialog = page.getByRole("dialog")
          for (const code of REFUSALS) {
            const { message, status } = errorCodes[code]
            const body = JSON.stringify({
              code,
              charge_id: id,
              message: `${message} The rest must be read by a person.`
            })
            await page.route("**/refund", (route) =>
              route.fulfill({ status, contentType: "application/json", body, headers: { "x-code": code } })
            )
            const answered = page.waitForResponse((response) => response.headers()["x-code"] === code)
            await dialog.getByRole("button", { name: /^Devolver/ }).click()
            await answered
            await dialog.getByRole("button", { name: /^Devolver/, disabled: false }).waitFor()
            const text = await dialog.getByRole("alert").innerText()
            assert.notInclude(text, message, code)
            assert.notMatch(text, /\b(?:the|must|is|not)\b/i, code)
            assert.notInclude(text, "não respondeu", code)
            await page.unroute("**/refund")
          }
          await page.goto("/accounts")
          await visit.press("Criar conta")
          await visit.fill("Criar conta", { Nome: "A", "Razão social": "A", "CPF ou CNPJ": "123", Telefone: "1" })
          const wrong = page.getByRole("dialog").locator(".wrong")
          await wrong.first().waitFor()
          assert.notMatch((await wrong.allInnerTexts()).join(" "), /\b(?:the|must|is|not|expected)\b/i)
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "what a check of a connection finds is in Portuguese, and why one cannot be opened",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const connection = yield* connectTo(yield* startDouble())
        const { id } = connection
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.getByRole("button", { name: "Português" }).click()
          await page.goto(`/connections/${id}`)
          const check = page.getByRole("status").filter({ hasText: "Verificação" })
          const rows = () => check.locator("tbody tr").allInnerTexts()
          await visit.press("Verificar")
          await page.getByRole("dialog").getByRole("button", { name: "Verificar" }).click()
          await check.getByText("A instituição emitiu um token.").waitFor()
          assert.lengthOf(await rows(), 6)
          assert.deepStrictEqual(
            (await rows()).filter((row) => SENTENCE.test(row)),
            []
          )

          for (const failures of [FAILURES.slice(0, STEPS.length), FAILURES.slice(STEPS.length)]) {
            const steps = failures.map((failure, index) => ({
              step: STEPS[index],
              ok: false,
              detail: describeFailure(failure)
            }))
            const json = { object: "connection_check", connection_id: id, ok: false, steps }
            await page.route(`**/connections/${id}/check`, (route) => route.fulfill({ json }))
            await visit.press("Verificar")
            await page.getByRole("dialog").getByRole("button", { name: "Verificar" }).click()
            await check.locator("tbody tr").nth(failures.length).waitFor({ state: "detached" })
            await check
              .locator("tbody tr", { hasText: "falha" })
              .nth(failures.length - 1)
              .waitFor()
            assert.deepStrictEqual(
              (await rows()).filter((row) => SENTENCE.test(row)),
              []
            )
          }

          const { reason } = await Effect.runPromise(Effect.flip(makeCredentials(NO_PEM)))
          const json = { ...connection, problem: `credentials.certificate ${reason}` }
          await page.route(`**/operator/v1/connections/${id}`, (route) => route.fulfill({ json }))
          await page.reload()
          assert.strictEqual(
            await page.getByRole("alert").innerText(),
            "credentials.certificate não é um certificado em PEM"
          )
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("no age is in the future where the clock of the browser is ten minutes behind", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { key } = yield* funded(5000)
      const { id } = yield* paidCharge(key, 3000)
      yield* operated("POST", `/charges/${id}/refund`, { amount: 100 })
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.addInitScript(
          `const origin = performance.timeOrigin - 600_000
          Object.defineProperty(performance, "timeOrigin", { get: () => origin })`
        )
        await page.goto("/")
        await visit.signIn(operatorToken)
        await page.getByRole("button", { name: "Português" }).click()
        for (const path of [`/charges/${id}`, "/requests", "/audit"]) {
          await page.goto(path)
          await page
            .getByText(/há \d+ (?:seg|min)/)
            .first()
            .waitFor()
          // The charge expires in a day. A time of the server that came late sets the page's clock back by as much, until the next.
          const agesToCome = async () => {
            const ages = await page.getByRole("main").locator("time").allInnerTexts()
            return ages.filter((age) => /^(?:em|daqui)\b/.test(age) && !age.endsWith(" h"))
          }
          await expect.poll(agesToCome, { timeout: 60_000, message: path }).toEqual([])
        }
        visit.assertNoFault()
      })
    })
  )
})
