/** The search: what leads where, for whom, and by which index. */
import type { SearchResults } from "@pix-payments/api/operator/Search"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { txidFromId } from "@pix-payments/domain/Txid"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { exceptionOf, newPix, notified, paymentOf } from "../support/Exceptions.ts"
import { funded, operated, paidCharge, paidOut, payoutReaching, simulated } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { partitionedIndexNames } from "../support/Plans.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { statements } from "../../src/operations/SearchStatements.ts"
import { type Call, newKey, TestService } from "../support/TestService.ts"
import { makeWorld, type Personal } from "../support/World.ts"

const search = (by: Call, q: string) =>
  Effect.map(by<SearchResults>("GET", `/operator/v1/search?q=${encodeURIComponent(q)}`), ({ body, status, text }) => {
    assert.strictEqual(status, 200, text)
    return body.data
  })

const person: Personal = {
  name: "Maria Busca",
  email: "maria.busca@example.com",
  document: "52998224725",
  phone: "+5511912345678",
  pixKey: "chave.busca@example.com",
  secret: "secret-of-a-webhook",
  reference: "pedido-busca"
}

const returnId = () => newPix().replace("E", "D")

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("The search", (it) => {
  it.effect(
    "OPR-125, OPR-126: every id leads to its resource, and a limited operator finds what is of the accounts",
    () =>
      Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const { url } = yield* receiver()
        const world = yield* makeWorld(url, person)
        const limited = yield* makeOperator("viewer", [world.accountId])
        const stranger = yield* makeOperator("operator", [
          (yield* makeWorld(url, { ...person, reference: "other" })).accountId
        ])
        const kinds = {
          accounts: "account",
          applications: "application",
          charges: "charge",
          payouts: "payout",
          disputes: "dispute",
          deliveries: "delivery",
          refunds: "refund",
          webhooks: "endpoint",
          exceptions: "exception"
        } as const
        for (const [name, kind] of Object.entries(kinds)) {
          for (const id of world.ids[name] ?? []) {
            const [found] = yield* search(operate, ` ${id.toUpperCase()} `)
            assert.deepInclude(found, { kind, id })
            const own = yield* search(limited.call, id)
            if (kind !== "exception") assert.deepStrictEqual(own, [found!])
            assert.lengthOf(yield* search(stranger.call, id), 0)
          }
        }
        const paid = world.ids["charges"]![1]!
        assert.deepInclude((yield* search(operate, txidFromId(paid)))[0], { kind: "charge", id: paid })
        const charge = yield* operated<{ pix: { end_to_end_id: string } }>("GET", `/charges/${paid}`)
        const settled = yield* search(limited.call, charge.pix.end_to_end_id)
        assert.deepInclude(settled[0], { kind: "charge", id: paid, title: "R$\u00a0500,00 · Maria Busca" })
        const requestId = newKey()
        yield* call("GET", "/v1/account", { key: world.key, headers: { "x-request-id": requestId } })
        const [request] = yield* eventually(search(operate, requestId), ({ length }) => length > 0)
        assert.deepInclude(request, { kind: "request", account_id: world.accountId, title: "GET /v1/account 200" })

        const ofReference = (by: Call) =>
          Effect.map(search(by, person.reference), (found) => found.map(({ id }) => id).toSorted())
        const referenced = [...world.ids["charges"]!, world.ids["payouts"]![1]!].toSorted()
        assert.deepStrictEqual(yield* ofReference(operate), referenced)
        assert.deepStrictEqual(yield* ofReference(limited.call), referenced)
        assert.deepStrictEqual(yield* ofReference(stranger.call), [])
        assert.lengthOf(yield* search(operate, "nothing"), 0)
        assertRefused(yield* operate("GET", "/operator/v1/search"), "VALIDATION_ERROR", ["q"])
      }).pipe(Effect.scoped)
  )

  it.effect("OPR-126: a role that sees personal data masked cannot ask whether a document or an address is known", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const known = { ...person, document: "11144477735", email: "known@example.com", pixKey: "key.known@example.com" }
      const world = yield* makeWorld(url, known)
      const texts = ["111.444.777-35", known.document, known.email, known.pixKey]
      const operator = yield* makeOperator("operator", [world.accountId])
      for (const text of texts) assert.isAbove((yield* search(operator.call, text)).length, 0, text)
      assert.notMatch(JSON.stringify(yield* search(operator.call, known.email)), /11144477735|@example/)
      for (const role of ["viewer", "developer"] as const) {
        const { call } = yield* makeOperator(role)
        for (const text of texts) assert.lengthOf(yield* search(call, text), 0, `${role} ${text}`)
      }
    }).pipe(Effect.scoped)
  )

  it.effect(
    "OPR-125, OPR-293: what a customer says leads to the charge, and personal data only for whom it is clear",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(1_000_000, { name: "Livraria São João" })
        const customer = { name: "Zulmira Assunção Brandão", email: "zu@example.com", document: "39053344705" }
        const fields = {
          amount: 135_221,
          reference: "LOJA-7731/azul",
          customer: { ...customer, phone: "+5571987650001" }
        }
        const charge = yield* created(key, fields)
        const paid = yield* paidCharge(key, 500, {})
        const payout = yield* paidOut(key, { amount: 4321, recipient_name: "Ótica Vênus", reference: "nota 88" })
        const ids = (by: Call, q: string) => Effect.map(search(by, q), (found) => found.map(({ id }) => id))
        yield* eventually(ids(operate, "zulmira"), ({ length }) => length > 0)
        yield* eventually(ids(operate, "venus"), ({ length }) => length > 0)
        const code = charge.pix.br_code!
        const clear = ["(71) 98765-0001", "+55 71 98765-0001", code]
        const open = [
          "Assuncao Zul",
          "ZULMIRA",
          "brand",
          "1.352,21",
          "R$ 1352,21",
          "1352.21",
          "7731",
          "loja azul",
          charge.id
        ]
        for (const q of [...open, ...clear, shortIdOf(charge.id).toUpperCase()])
          assert.include(yield* ids(operate, q), charge.id, q)
        for (const q of ["ótica", "43,21", "nota 88", shortIdOf(payout.id)])
          assert.include(yield* ids(operate, q), payout.id, q)
        const sql = yield* SqlClient
        const [days] = yield* sql<Record<"today" | "made" | "earlier", string>>`
          SELECT to_char(now() AT TIME ZONE 'America/Sao_Paulo', 'DD/MM') AS today,
            to_char(created_at AT TIME ZONE 'America/Sao_Paulo', 'DD/MM') AS made,
            to_char(now() AT TIME ZONE 'America/Sao_Paulo' - interval '3 days', 'DD/MM/YYYY') AS earlier
          FROM charges WHERE id = ${charge.id}::uuid`
        // The day may just have ended.
        for (const day of [days!.made, ...(days!.made === days!.today ? ["hoje", "today"] : [])]) {
          assert.deepStrictEqual(yield* ids(operate, `R$ 1.352,21 ${day}`), [charge.id], day)
          assert.deepStrictEqual(yield* ids(operate, `43,21 ${day}`), [payout.id], day)
        }
        for (const day of [days!.earlier, "31/02", "99/99/9999", ...(days!.made === days!.today ? ["ontem"] : [])]) {
          assert.deepStrictEqual(yield* ids(operate, `1.352,21 ${day}`), [], day)
        }
        const { pix } = yield* operated<{ pix: { end_to_end_id: string } }>("GET", `/charges/${paid.id}`)
        for (const q of [pix.end_to_end_id.toLowerCase(), pix.end_to_end_id.toUpperCase()]) {
          assert.deepStrictEqual(yield* ids(operate, q), [paid.id], q)
        }
        assert.deepStrictEqual(yield* ids(operate, "livraria sao"), [accountId])
        const stranger = yield* makeOperator("operator", [(yield* funded(100)).accountId])
        const viewer = yield* makeOperator("viewer")
        for (const q of [...open, ...clear]) assert.deepStrictEqual(yield* ids(stranger.call, q), [], q)
        for (const q of open) assert.include(yield* ids(viewer.call, q), charge.id, q)
        for (const q of clear) assert.deepStrictEqual(yield* ids(viewer.call, q), [], q)
        assert.notInclude(yield* ids(viewer.call, "+5571987650001"), charge.id)
      })
  )

  it.effect("OPR-125, OPR-126: an account is found by its phone, as it was written or typed", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const written = ["+55 31 98877-0001", "(31) 98877-0001", "31988770001"]
      const accounts = yield* Effect.forEach(written, (phone) => funded(100, { phone }))
      const ids = accounts.map(({ accountId }) => accountId).toSorted()
      const found = (by: Call, q: string) => Effect.map(search(by, q), (all) => all.map(({ id }) => id).toSorted())
      for (const q of written) assert.deepStrictEqual(yield* found(operate, q), ids, q)
      assert.deepStrictEqual(yield* found(operate, "(31) 98877-0002"), [])
      const limited = yield* makeOperator("operator", [ids[1]!])
      assert.deepStrictEqual(yield* found(limited.call, written[0]!), [ids[1]!])
      const { call } = yield* makeOperator("viewer")
      for (const q of written) assert.deepStrictEqual(yield* found(call, q), [], q)
    })
  )

  it.effect("OPR-125: what settled and what went back are found by the bank's id, in any case", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const payout = yield* paidOut(key, { amount: 500 })
      const { end_to_end_id: sent } = yield* payoutReaching(key, payout.id, "completed")
      const paid = yield* paidCharge(key, 2000)
      const unknown = newPix()
      yield* notified(paymentOf("", { endToEndId: unknown, amount: 700 }))
      const exception = yield* exceptionOf(unknown)
      const { refunds } = yield* operated<{ refunds: ReadonlyArray<{ id: string }> }>(
        "POST",
        `/charges/${paid.id}/refund`,
        { amount: 300 }
      )
      const returned = returnId()
      yield* sql`UPDATE refunds SET provider_id = ${returned} WHERE id = ${refunds[0]!.id}::uuid`
      const [before, after, lost] = [returnId(), returnId(), returnId()]
      yield* sql`UPDATE acquirer_exceptions SET external_id = ${before} WHERE id = ${exception.id}::uuid`
      yield* sql`INSERT INTO exception_returns (id, exception_id, return_id)
        VALUES (uuidv7(), ${exception.id}::uuid, ${after})`
      const dispute = yield* simulated<{ id: string }>(`/charges/${paid.id}/infraction`, { reason: "fraud" }, 201)
      yield* sql`UPDATE disputes SET return_id = ${lost} WHERE id = ${dispute.id}::uuid`
      const expected = [
        [sent, "payout", payout.id],
        [unknown, "exception", exception.id],
        [returned, "refund", refunds[0]!.id],
        [before, "exception", exception.id],
        [after, "exception", exception.id],
        [lost, "dispute", dispute.id]
      ] as const
      for (const [id, kind, of] of expected) {
        for (const q of [id!, id!.toLowerCase(), id!.toUpperCase()]) {
          assert.deepStrictEqual(
            (yield* search(operate, q)).map((found) => [found.kind, found.id]),
            [[kind, of]],
            q
          )
        }
      }
    })
  )

  it.effect("OPR-125: each lookup reads its rows by an index that begins with what is looked for", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bankIds = [
        "charge_settlements_pkey",
        "charges_pkey",
        "payouts_of_end_to_end_id",
        "payouts_pkey",
        "acquirer_exceptions_of_pix",
        "acquirer_exceptions_of_external_id",
        "exception_returns_of_return",
        "acquirer_exceptions_pkey",
        "disputes_of_return",
        "disputes_pkey",
        "refunds_of_provider_id",
        "refunds_pkey"
      ]
      const indexes = {
        txid: ["acquirer_exceptions_of_txid"],
        endToEndId: bankIds,
        foldedEndToEndId: bankIds,
        reference: ["charges_of_reference", "payouts_of_reference"],
        requestId: ["requests_of_request_id"],
        document: ["accounts_of_document", "charges_of_document", "payouts_of_document", "payouts_of_pix_key"],
        email: ["charges_of_email", "payouts_of_pix_key"],
        phone: ["accounts_pkey", "payouts_of_pix_key"],
        accountName: ["accounts_pkey"]
      } as const
      const indexName = yield* partitionedIndexNames(sql)
      for (const [name, expected] of Object.entries(indexes)) {
        const { text } = statements[name as keyof typeof indexes]
        const lookup = { value: "xyz", accounts: null }
        yield* sql.unsafe("SET enable_seqscan = off")
        const rows = yield* sql.unsafe<{ "QUERY PLAN": string }>(
          `EXPLAIN ${text}`,
          statements[name as keyof typeof indexes]({ lookup })[1]
        )
        const plan = rows.map((row) => row["QUERY PLAN"]).join("\n")
        const used = new Set(
          Array.from(plan.matchAll(/Scan(?: Backward)? using (\w+)|Bitmap Index Scan on (\w+)/g), ([, a, b]) =>
            indexName(a ?? b ?? "")
          )
        )
        assert.sameMembers([...used], [...expected], plan)
        assert.notMatch(
          plan,
          /Seq Scan on (charge|payouts|requests|accounts|acquirer|exception|refunds|disputes)/,
          plan
        )
      }
    })
  )
})
