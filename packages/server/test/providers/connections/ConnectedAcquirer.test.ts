/** The acquirer of connections: which provider a call reaches, and what a change of the connection does to it. */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import type { Generated } from "@pix-payments/domain/Uuid"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { Acquirer, type Emission } from "../../../src/providers/Acquirer.ts"
import { sealCredentials } from "../../../src/providers/connections/ConnectionCredentials.ts"
import { ConnectionRegistry } from "../../../src/providers/connections/ConnectionRegistry.ts"
import { ConnectionStore } from "../../../src/providers/connections/ConnectionStore.ts"
import type { OpenConnection } from "../../../src/providers/connections/OpenConnection.ts"
import { Ids } from "../../../src/base/Ids.ts"
import { Secrets } from "../../../src/base/Secrets.ts"
import { startDouble } from "../../support/Bank.ts"
import { operatorCredentials, storeConnection } from "../../support/Connections.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"

layer(domainServicesLayer({ acquirerTimeoutMs: 60_000 }), { excludeTestServices: true })("the acquirer", (it) => {
  it.effect("a call reaches the provider of its connection; without a connection, the simulator", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* startDouble({ profile: "efi" }), yield* startDouble()]
      const first = yield* storeConnection(one)
      const second = yield* storeConnection(other)
      const { providerFor } = yield* Acquirer

      const { txid } = yield* emitThrough(first.id)
      yield* emitThrough(second.id)
      const simulated = yield* emitThrough(null)

      assert.deepStrictEqual([emissionsOf(one), emissionsOf(other)], [1, 1])
      assert.include((yield* (yield* providerFor(null)).emit(simulated)).brCode, "pix.simulator.test")
      assert.strictEqual(one.exchanges.filter(({ path }) => path.includes(txid)).length, 1)
      assert.isDefined((yield* providerFor(first.id)).payouts)
      assert.isUndefined((yield* providerFor(second.id)).payouts)
    })
  )

  it.effect("a connection has its ledger accounts, and its credentials are sealed for its row", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const { id } = yield* storeConnection(double)
      const sql = yield* SqlClient
      const [row] = yield* sql<{ credentials: string; kinds: string }>`
        SELECT credentials, (SELECT string_agg(kind, ',' ORDER BY kind) FROM ledger_accounts WHERE owner_id = c.id) AS kinds
        FROM acquirer_connections c WHERE id = ${id}::uuid`
      assert.strictEqual(row?.kinds, "acquirer,unallocated")
      assert.match(row?.credentials ?? "", /^[0-9a-f]{8}\./)
      assert.notInclude(row?.credentials, double.clientSecret)
      const { open } = yield* Secrets
      assert.throws(() => open(row?.credentials ?? "", { kind: "connection", id: newId() }))
    })
  )

  it.effect("CHG-4: a connection that is paused, unknown or unusable is unclear, and nothing is sent", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const { id } = yield* storeConnection(double)
      const store = yield* ConnectionStore
      const { refresh } = yield* ConnectionRegistry

      const reasonOf = (connectionId: string) => Effect.flip(emitThrough(connectionId))
      yield* store.update(id, { paused: true })
      yield* refresh
      assert.deepInclude(yield* reasonOf(id), { _tag: "AcquirerUnclear", reason: "the connection is paused" })
      assert.deepInclude(yield* reasonOf(newId()), { _tag: "AcquirerUnclear", reason: "the connection is unknown" })
      const broken = yield* storeConnection(double, { settings: {}, pix_key: newId() })
      assert.deepInclude(yield* reasonOf(broken.id), {
        _tag: "AcquirerUnclear",
        reason: "the connection is unusable: settings.base_url is missing"
      })
      assert.strictEqual(double.exchanges.length, 0)

      yield* store.update(id, { paused: false })
      yield* refresh
      yield* emitThrough(id)
      assert.strictEqual(emissionsOf(double), 1)
    })
  )

  it.effect("new credentials are used by the next call; the old connection is closed after its last call", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const { id } = yield* storeConnection(double)
      const registry = yield* ConnectionRegistry
      const gate = yield* Deferred.make<void>()
      const emitLater = Effect.fnUntraced(function* ({ provider }: OpenConnection) {
        yield* Deferred.await(gate)
        return yield* provider.emit(someEmission((yield* Ids).next()))
      })
      const before = registry.find(id)?.open
      assert.isDefined(before)
      const inFlight = yield* Effect.forkChild(registry.use(id, emitLater), { startImmediately: true })

      const renewed = yield* Effect.promise(() => double.authority.issue({ name: "renewed", usage: "client" }))
      const credentials = { ...operatorCredentials(double), certificate: renewed.cert, private_key: renewed.key }
      yield* (yield* ConnectionStore).update(id, {
        sealedCredentials: sealCredentials(yield* Secrets, id, credentials)
      })
      yield* registry.refresh
      yield* emitThrough(id)
      assert.deepStrictEqual(callersOf(double), ["renewed"])

      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(inFlight)
      assert.deepStrictEqual(callersOf(double), ["renewed", "merchant"])
      const closed = yield* Effect.flip(before.provider.emit(someEmission((yield* Ids).next())))
      assert.strictEqual(closed._tag, "AcquirerUnclear")
    })
  )
})

const emitThrough = Effect.fnUntraced(function* (connectionId: string | null) {
  const { providerFor } = yield* Acquirer
  const emission = someEmission((yield* Ids).next())
  const provider = yield* providerFor(connectionId)
  yield* provider.emit(emission)
  return emission
})

const someEmission = ({ epochMs, id }: Generated): Emission => ({
  method: "pix",
  txid: txidFromId(id),
  amount: 1000,
  expiresAtMs: epochMs + 3_600_000,
  payer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" },
  merchant: { name: "Loja", document: "11222333000181" },
  description: null,
  isRepeated: false
})

const newId = () => randomUUID()

const emissionsOf = ({ exchanges }: PspDouble): number =>
  exchanges.filter(({ method, path }) => method === "PUT" && path.includes("/cob/")).length

/** The certificates that emitted a charge. */
const callersOf = ({ exchanges }: PspDouble) =>
  exchanges.filter(({ path }) => path.includes("/cob/")).map(({ caller }) => caller)
