/** Defenses of disputes: stored before the provider is asked, sent once, and followed to their end. */
import { assert, layer } from "@effect/vitest"
import { isBase64 } from "@pix-payments/api/operator/Disputes"
import { txidFromId } from "@pix-payments/domain/Txid"
import { firstPixOf } from "../../../src/providers/simulator/SimulatedInstitution.ts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { Acquirer, AcquirerRefused, AcquirerUnclear, type DefenseOrder } from "../../../src/providers/Acquirer.ts"
import { NewCharges } from "../../../src/payments/charges/NewCharges.ts"
import { DisputeStore } from "../../../src/payments/disputes/DisputeStore.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { Defenses } from "../../../src/payments/disputes/Defenses.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { type Dispute, disputeOf, med, refusesAll } from "../../support/Disputes.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { runDue } from "../../support/DueCalls.ts"
import { operated, paidCharge } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { closing, exchange, open } from "../../support/RawConnection.ts"
import { TestService } from "../../support/TestService.ts"

const MIB = 1024 * 1024
const base64 = (bytes: number) => Buffer.alloc(bytes, "a").toString("base64")
const file = (content: string) => ({ name: "receipt.pdf", content_type: "application/pdf", content })

layer(TestService.layer({ settings: { acquirerTimeoutMs: 300, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("A defense with files", (it) => {
  it.effect("OPR-74: 5 files of 5 MiB are accepted and stored; anything else is refused", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* med((yield* paidCharge(key)).id)
      const path = `/operator/v1/disputes/${id}/defense`
      const ask = (files: unknown) => operate<Dispute>("POST", path, { body: { text: "delivered", files } })
      assertRefused(yield* ask(Array.from({ length: 6 }, () => file("YQ=="))), "VALIDATION_ERROR", ["files"])
      assertRefused(yield* ask([]), "VALIDATION_ERROR", ["files"])
      assertRefused(yield* ask([file("YQ==!")]), "VALIDATION_ERROR", ["files.0.content"])
      assertRefused(yield* ask([{ ...file("YQ=="), name: "" }]), "VALIDATION_ERROR", ["files.0.name"])
      assertRefused(yield* ask([file(base64(5 * MIB + 1))]), "VALIDATION_ERROR", ["files.0.content"])
      assertRefused(yield* ask([file(base64(28 * MIB))]), "PAYLOAD_TOO_LARGE")
      assert.strictEqual((yield* disputeOf(id)).status, "open")
      const five = Array.from({ length: 5 }, () => file(base64(5 * MIB)))
      const answer = yield* ask(five)
      assert.deepInclude(answer.body, { status: "under_review", defense_in_progress: false })
      const files = yield* sql<{ name: string; content_type: string; length: number }>`
        SELECT f.name, f.content_type, length(f.content) FROM dispute_files f
        JOIN dispute_messages m ON m.id = f.message_id WHERE m.dispute_id = ${id}::uuid`
      assert.lengthOf(files, 5)
      assert.deepStrictEqual(files[0], { name: "receipt.pdf", content_type: "application/pdf", length: 5 * MIB })
      yield* refusesAll(id, ["defense"])
      // Every other operation keeps its limit.
      const message = { body: { text: "x".repeat(300 * 1024) } }
      assertRefused(yield* operate("POST", `/operator/v1/disputes/${id}/messages`, message), "PAYLOAD_TOO_LARGE")
    })
  )

  it.effect("OPR-38, OPR-74: the body of who may not file it is not read, and evicts nobody's", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorToken, operatorUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* med((yield* paidCharge(key)).id)
      const head = (token: string, length: number) =>
        `POST /operator/v1/disputes/${id}/defense HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `x-operator-token: ${token}\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`
      const body = JSON.stringify({ text: "delivered", files: [file(base64(5 * MIB))] })
      const upload = yield* open(operatorUrl)
      let answer = ""
      upload.on("data", (bytes) => (answer += String(bytes)))
      const uploaded = closing(upload)
      upload.write(head(operatorToken, body.length) + body.slice(0, MIB))
      const others = yield* Effect.forEach(["viewer", "developer", "viewer"] as const, (role) => makeOperator(role))
      // None ends. Together they are more than all bodies of a listener may have.
      const refused = yield* Effect.raceFirst(
        Effect.forEach(others, ({ token }) => exchange(operatorUrl, head(token, 33 * MIB) + "x".repeat(32 * MIB)), {
          concurrency: "unbounded"
        }),
        Effect.as(uploaded, [])
      )
      assert.strictEqual(answer, "")
      for (const each of [...refused, yield* exchange(operatorUrl, `${head(others[0]!.token, 33 * MIB)}{`)]) {
        assert.match(each, /^HTTP\/1\.1 403 /)
      }
      upload.write(body.slice(MIB))
      yield* uploaded
      assert.match(answer, /^HTTP\/1\.1 200 /)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-12: it is in the audit log", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* med((yield* paidCharge(key)).id)
      yield* operated("POST", `/disputes/${id}/defense`, { text: "delivered", files: null })
      const audited = yield* sql`SELECT action FROM audit WHERE resource_id = ${id} AND action LIKE 'disputeActions%'`
      assert.deepStrictEqual(audited, [{ action: "disputeActions.defense" }])
    })
  )

  it("base64 is recognised", () => {
    for (const good of ["YQ==", "YWI=", "YWJj", "+/+/"]) assert.isTrue(isBase64(good), good)
    for (const bad of ["YQ=", "Y===", "YQ==YQ==", "Y Q=", "YWJ-", "ação"]) assert.isFalse(isBase64(bad), bad)
  })
})

/** A provider whose answers to defenses are chosen. */
const asked: Array<DefenseOrder> = []
let answer: Effect.Effect<void, AcquirerRefused | AcquirerUnclear> = Effect.void
const choosing = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (provider) => ({
          ...provider,
          disputes: {
            defend: (order) =>
              Effect.suspend(() => {
                asked.push(order)
                return answer
              })
          }
        }))
    })
  )
)

const disputed = Effect.gen(function* () {
  const accounts = yield* Accounts
  const charges = yield* NewCharges
  const { receive } = yield* AcquirerNotifications
  const store = yield* DisputeStore
  const account = yield* accounts.create({
    name: "Loja",
    legal_name: "Loja Ltda",
    phone: "+5511999998888",
    document: "11222333000181",
    document_type: "cnpj"
  })
  const { id: applicationId } = yield* accounts.createApplication(account.id, "Loja")
  const { charge } = yield* charges.createForCheckout({ id: applicationId, accountId: account.id }, undefined, {
    amount: 1000 as never,
    customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
  })
  const txid = txidFromId(charge.id)
  const externalId = `infraction-${charge.id}`
  const pix = { txid, endToEndId: firstPixOf(txid) }
  yield* receive({ _tag: "charge.paid", ...pix })
  const atMs = Date.UTC(2026, 10, 20)
  yield* receive({ _tag: "med.opened", ...pix, externalId, reason: "golpe", atMs, defenseDeadlineAtMs: atMs + 1000 })
  const {
    rows: [dispute]
  } = yield* store.list({ chargeId: charge.id }, { limit: 1, startingAfter: undefined })
  asked.length = 0
  return dispute!
})

const lease = SqlClient.use((sql) => sql`UPDATE acquirer_orders SET due_at = now() WHERE kind = 'defend'`)
const finishDue = Defenses.use(({ claimDue }) => runDue(claimDue))
const filed = (disputeId: string) =>
  Defenses.use((orders) =>
    orders.file(disputeId, {
      text: "delivered",
      files: [{ name: "a.txt", contentType: "text/plain", base64: Buffer.from("proof").toString("base64") }]
    })
  )

layer(domainServicesLayer({ acquirerTimeoutMs: 50, simulatorSettleMs: 0, databaseConnections: 6 }, choosing), {
  excludeTestServices: true
})("A defense at the provider", (it) => {
  it.effect("OPR-75: without a clear answer it is asked again under its id, with its files, until it is known", () =>
    Effect.gen(function* () {
      const store = yield* DisputeStore
      answer = Effect.fail(new AcquirerUnclear({ reason: "killed here" }))
      const dispute = yield* disputed
      assert.strictEqual((yield* filed(dispute.id)).status, "open")
      assert.deepStrictEqual([...(yield* store.defensesOpenOf([dispute.id]))], [dispute.id])
      assert.strictEqual((yield* Effect.flip(filed(dispute.id)))._tag, "InvalidStateError")
      answer = Effect.void
      yield* lease
      assert.deepStrictEqual((yield* Effect.all([finishDue, finishDue], { concurrency: 2 })).toSorted(), [0, 1])
      assert.strictEqual((yield* store.find(dispute.id))?.status, "under_review")
      assert.lengthOf(asked, 2)
      assert.deepStrictEqual(asked[0], asked[1])
      const [{ content, ...rest }] = asked[0]!.files as [DefenseOrder["files"][number]]
      assert.deepStrictEqual(rest, { name: "a.txt", contentType: "text/plain" })
      assert.strictEqual(Buffer.from(content).toString(), "proof")
      assert.deepInclude(asked[0]!, {
        externalId: dispute.externalId,
        openedAtMs: dispute.openedAtMs,
        text: "delivered"
      })
    })
  )

  it.effect("OPR-76: refused: the dispute stays open with the reason, and another defense may follow", () =>
    Effect.gen(function* () {
      const store = yield* DisputeStore
      answer = Effect.fail(new AcquirerRefused({ reason: "too late" }))
      const dispute = yield* disputed
      const refused = yield* Effect.flip(filed(dispute.id))
      assert.deepInclude(refused, { _tag: "DefenseRejected", reason: "too late", chargeId: dispute.chargeId ?? "" })
      assert.strictEqual((yield* store.find(dispute.id))?.status, "open")
      const messages = (yield* store.messagesOf([dispute.id])).get(dispute.id)!
      assert.deepStrictEqual(
        messages.map(({ author, text }) => `${author}: ${text}`),
        ["operator: delivered", "platform: The defense was refused: too late"]
      )
      answer = Effect.void
      assert.strictEqual((yield* filed(dispute.id)).status, "under_review")
    })
  )

  it.effect("OPR-75, OPR-76: a repeated request that is refused ends nothing until the one before cannot arrive", () =>
    Effect.gen(function* () {
      const store = yield* DisputeStore
      answer = Effect.fail(new AcquirerUnclear({ reason: "the connection was cut" }))
      const dispute = yield* disputed
      yield* filed(dispute.id)
      answer = Effect.fail(new AcquirerRefused({ reason: "too late" }))
      yield* lease
      assert.strictEqual(yield* finishDue, 1)
      assert.deepStrictEqual([...(yield* store.defensesOpenOf([dispute.id]))], [dispute.id])
      const again = Effect.andThen(lease, finishDue)
      for (let asks = 0; asks < 20 && (yield* again) > 0; asks += 1);
      assert.deepStrictEqual([...(yield* store.defensesOpenOf([dispute.id]))], [])
      assert.strictEqual((yield* store.find(dispute.id))?.status, "open")
      assert.strictEqual((yield* store.messagesOf([dispute.id])).get(dispute.id)?.length, 2)
    })
  )

  it.effect("DSP-2, DSP-6: outcomes and messages find the dispute by the provider's id", () =>
    Effect.gen(function* () {
      const store = yield* DisputeStore
      const { receive } = yield* AcquirerNotifications
      const dispute = yield* disputed
      assert.deepInclude(dispute, { openedAtMs: Date.UTC(2026, 10, 20), externalId: `infraction-${dispute.chargeId}` })
      assert.strictEqual(dispute.defenseDeadlineAtMs, dispute.openedAtMs + 1000)
      const unknown = { _tag: "med.won", disputeId: "", externalId: "another" } as const
      assert.strictEqual(yield* receive(unknown), "unknown")
      const won = { _tag: "med.won", disputeId: "", externalId: dispute.externalId! } as const
      assert.strictEqual(yield* receive(won), "applied")
      assert.strictEqual(yield* receive(won), "ignored")
      assert.strictEqual((yield* store.find(dispute.id))?.status, "won")
      assert.strictEqual(yield* receive({ ...won, _tag: "med.lost" }), "applied")
      assert.strictEqual((yield* store.find(dispute.id))?.status, "lost")
    })
  )
})
