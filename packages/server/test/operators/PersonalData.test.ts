/** Personal data in the answers to each role. */
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../support/ChargeRequests.ts"
import { operatorRoutes, unknownId } from "../support/Declared.ts"
import { changeSchema } from "../support/LiveSchema.ts"
import { makeOperator } from "../support/Operators.ts"
import { operated } from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { type Call, TestService } from "../support/TestService.ts"
import { acceptedBy, makeWorld } from "../support/World.ts"

const reading = operatorRoutes.filter(
  ({ endpoint, method }) => method === "GET" && endpoint.middlewares.has(OperatorAuthentication)
)

const person = {
  name: "Maria Segredo",
  email: "maria.segredo@example.com",
  document: "52998224725",
  phone: "+5511912345678",
  pixKey: "chave.segredo@example.com",
  secret: "secret-of-a-webhook",
  reference: "referencia-segredo"
}

/** Personal data of the world: its account's, and that of payers and recipients. */
const personal = [person.email, person.document, person.pixKey, "11222333000181", "+5511999998888", "5544332-1"]

layer(TestService.layer({ settings: { logLevel: "none", webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Personal data", (it) => {
  /** The personal data in the answers of every route that reads. */
  const seenBy = Effect.fnUntraced(function* (call: Call, world: Effect.Success<ReturnType<typeof makeWorld>>) {
    const found = new Map<string, ReadonlyArray<string>>()
    for (const route of reading) {
      const { path } = acceptedBy(route, world, "https://example.com")
      // Uses of the installation's token are entries once a minute, and would take the place of older ones on a shorter page.
      const isAudit = route.template === "/operator/v1/audit"
      const { status, text } = yield* call("GET", isAudit ? `${path}?limit=100` : path)
      // Of what moved no money there is no receipt.
      assert.include(route.template.endsWith("/receipt") ? [200, 403, 409] : [200, 403], status, text)
      const shown = personal.filter((value) => text.includes(value))
      if (shown.length > 0) found.set(route.template, shown)
    }
    return found
  })

  it.effect("OPR-48: viewers and developers see it masked in every answer, operators and admins as it is", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { url } = yield* receiver()
      const world = yield* makeWorld(url, person)
      const admin = yield* makeOperator("admin")
      // What the audit log keeps of a change is personal data, too.
      const statement_account = { bank: "341", branch: "0001", number: "5544332-1" }
      const changed = { phone: "+5511999998888", statement_account }
      yield* operate("PATCH", `/operator/v1/accounts/${world.accountId}`, { body: changed })
      for (const id of world.ids["connections"]!) {
        const { status } = yield* operate("PATCH", `/operator/v1/connections/${id}`, { body: { statement_account } })
        assert.strictEqual(status, 200)
      }
      // Its lines appear while the routes are read.
      yield* eventually(
        operated<{ status: string }>("GET", `/reconciliations/${world.ids["reconciliations"]![0]}`),
        ({ status }) => status !== "requested"
      )
      // What an operator writes about a line is in the line and in the audit log.
      const compared = `/reconciliations/${world.ids["reconciliations"]![0]}`
      const { data: lines } = yield* operated<{ data: ReadonlyArray<{ id: string; state: string }> }>(
        "GET",
        `${compared}/lines`
      )
      const explained = yield* operate("POST", `/operator/v1${compared}/explain`, {
        body: {
          line_id: lines.find(({ state }) => state === "missing_here")?.id,
          explanation: `Asked by ${person.email}, CPF ${person.document}`
        }
      })
      assert.strictEqual(explained.status, 200, explained.text)
      const clear = yield* seenBy(admin.call, world)
      for (const template of [
        "accounts",
        "accounts/{id}",
        "connections",
        "charges",
        "charges/{id}",
        "payouts",
        "audit"
      ]) {
        assert.isTrue(clear.has(`/operator/v1/${template}`), template)
      }
      assert.deepStrictEqual(yield* seenBy((yield* makeOperator("operator")).call, world), clear)
      for (const role of ["viewer", "developer"] as const) {
        assert.deepStrictEqual(yield* seenBy((yield* makeOperator(role)).call, world), new Map(), role)
      }
      const viewer = yield* makeOperator("viewer")
      const { body: charge } = yield* viewer.call("GET", `/operator/v1/charges/${world.ids["charges"]![0]}`)
      assert.deepStrictEqual(charge["customer"], {
        name: person.name,
        email: "m***@example.com",
        document: "***982247**"
      })
      // A file that a program reads has the account's id instead.
      const path = `/operator/v1/accounts/${world.accountId}/statement?from=2026-01-01&to=2026-01-01&format=ofx`
      assert.include((yield* admin.call("GET", path)).text, "<ACCTID>5544332-1<")
      assert.include((yield* viewer.call("GET", path)).text, `<ACCTID>${world.accountId.slice(0, 22)}<`)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-48, OPR-143, OPR-158: a receiver that quotes its delivery shows no personal data to them", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((received, response) => response.writeHead(422).end(received.bytes))
      const world = yield* makeWorld(url, person)
      const admin = yield* makeOperator("admin")
      const [deliveryId] = world.ids["deliveries"]!
      const [chargeId] = world.ids["charges"]!
      for (const path of [`deliveries/${deliveryId}`, `charges/${chargeId}/timeline`]) {
        const clear = yield* eventually(admin.call("GET", `/operator/v1/${path}`), ({ text }) =>
          text.includes(person.document)
        )
        assert.include(clear.text, person.email, path)
        for (const role of ["viewer", "developer"] as const) {
          const { call } = yield* makeOperator(role)
          const masked = yield* call("GET", `/operator/v1/${path}`)
          assert.strictEqual(masked.status, 200)
          for (const value of personal) assert.notInclude(masked.text, value, `${role} ${path}`)
          // What is no personal data stays legible.
          assert.include(masked.text, '\\"customer\\":{\\"name\\":', `${role} ${path}`)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-49: revealing is for a single resource, recorded, and not for viewers", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { url } = yield* receiver()
      const world = yield* makeWorld(url, person)
      const charge = world.ids["charges"]![0]!
      const payout = world.ids["payouts"]![1]!
      const dispute = world.ids["disputes"]![0]!
      const viewer = yield* makeOperator("viewer")
      const developer = yield* makeOperator("developer")
      const entries = Effect.map(
        sql<{ action: string; resource_id: string }>`
          SELECT action, resource_id FROM audit WHERE operator_id = ${developer.id}::uuid ORDER BY id`,
        (rows) => rows.map(({ action, resource_id }) => [action, resource_id])
      )
      for (const [path, shown] of [
        [`charges/${charge}`, person.email],
        [`payouts/${payout}`, person.pixKey],
        [`disputes/${dispute}`, dispute],
        [`connections/${SIMULATOR_CONNECTION}/transactions`, "balance_transaction"]
      ] as const) {
        const reveal = `/operator/v1/${path}?reveal=true`
        assertRefused(yield* viewer.call("GET", reveal), "FORBIDDEN")
        const before = yield* entries
        const masked = yield* developer.call("GET", `/operator/v1/${path}?reveal=false`)
        assert.strictEqual(masked.status, 200)
        for (const value of personal) assert.notInclude(masked.text, value)
        assert.deepStrictEqual(yield* entries, before)
        const revealed = yield* developer.call("GET", reveal)
        assert.include(revealed.text, shown)
        const [kind, id] = path.split("/")
        assert.deepStrictEqual(yield* entries, [...before, [`${kind}.reveal`, id]])
      }
      const before = yield* entries
      assertRefused(yield* developer.call("GET", `/operator/v1/charges/${unknownId}?reveal=true`), "NOT_FOUND")
      assertRefused(yield* developer.call("GET", `/operator/v1/charges/${charge}?reveal=yes`), "VALIDATION_ERROR", [
        "reveal"
      ])
      assertRefused(yield* developer.call("GET", "/operator/v1/charges?reveal=true"), "VALIDATION_ERROR", ["reveal"])
      assert.deepStrictEqual(yield* entries, before)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-49: what cannot be recorded is not revealed", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const world = yield* makeWorld(url, person)
      const { call } = yield* makeOperator("developer")
      yield* changeSchema(`ALTER TABLE audit ADD CONSTRAINT no_reveal CHECK (action NOT LIKE '%.reveal') NOT VALID`)
      const answer = yield* call("GET", `/operator/v1/charges/${world.ids["charges"]![0]}?reveal=true`)
      yield* changeSchema(`ALTER TABLE audit DROP CONSTRAINT no_reveal`)
      assert.strictEqual(answer.status, 500)
      assert.notInclude(answer.text, person.email)
    }).pipe(Effect.scoped)
  )
})
