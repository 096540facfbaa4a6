/**
 * The limit that HTTP sets: our own listener, router, decoders, services and encoders over stores in memory.
 *
 * There is no database: nothing that is created is stored, every key is accepted, and every charge id is found.
 * Environment: PORT.
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { allScopes } from "@pix-payments/domain/Scope"
import { Accounts } from "@pix-payments/server/accounts/Accounts"
import { Acquirer, SimulatedProvider } from "@pix-payments/server/providers/Acquirer"
import type { Cached, Confirmed } from "@pix-payments/server/accounts/Caller"
import { ApiKeys, hashOf } from "@pix-payments/server/accounts/ApiKeys"
import * as Simulator from "@pix-payments/server/providers/simulator/Simulator"
import { ChargeEmission } from "@pix-payments/server/payments/charges/ChargeEmission"
import { Charges } from "@pix-payments/server/payments/charges/Charges"
import { NewCharges } from "@pix-payments/server/payments/charges/NewCharges"
import { ChargeStore } from "@pix-payments/server/payments/charges/ChargeStore"
import type { StoredCharge } from "@pix-payments/server/payments/charges/ChargeTable"
import { Drain } from "@pix-payments/server/http/pipeline/Drain"
import { ListenAddresses } from "@pix-payments/server/http/pipeline/ListenAddresses"
import * as PublicServer from "@pix-payments/server/http/public/PublicServer"
import { Ids } from "@pix-payments/server/base/Ids"
import { LedgerReports } from "@pix-payments/server/ledger/LedgerReports"
import { Metrics } from "@pix-payments/server/base/observability/Metrics"
import { NewPayouts } from "@pix-payments/server/payments/payouts/creation/NewPayouts"
import { Payouts } from "@pix-payments/server/payments/payouts/Payouts"
import { Receipts } from "@pix-payments/server/receipts/Receipts"
import { Secrets } from "@pix-payments/server/base/Secrets"
import { Settings } from "@pix-payments/server/base/Settings"
import { PublicAddress } from "@pix-payments/server/base/network/PublicAddress"
import { WebhookEndpoints } from "@pix-payments/server/webhooks/endpoints/WebhookEndpoints"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"

const cached: Cached = {
  _tag: "Cached",
  generation: "0199a0f0-5f3c-7c3e-9d0b-000000000004",
  keyExpiresAtMs: null,
  keyId: "0199a0f0-5f3c-7c3e-9d0b-000000000001",
  scopes: allScopes,
  applicationId: "0199a0f0-5f3c-7c3e-9d0b-000000000002",
  requestsPerMinute: { ofKey: null, ofAccount: null },
  isPayoutLimited: false,
  account: {
    id: "0199a0f0-5f3c-7c3e-9d0b-000000000003",
    name: "Loja do Bench",
    document: "11222333000181",
    status: "active",
    onboardingStatus: "completed",
    defaultExpiresInSeconds: 86_400,
    chargesPaused: false,
    isMoved: false,
    connectionId: null
  }
}

const confirmed: Confirmed = { ...cached, _tag: "Confirmed" }

/** The charge that every id finds. */
const stored: Omit<StoredCharge, "id"> = {
  accountId: cached.account.id,
  applicationId: cached.applicationId,
  origin: "api",
  idempotencyKey: "a-key-of-a-charge",
  status: "pending",
  method: "pix",
  amount: 1990,
  description: "Pedido 10000 na loja",
  reference: "pedido-10000",
  customerName: "Maria Oliveira da Silva",
  customerEmail: "cliente.1@example.com.br",
  customerDocument: "52998224725",
  customerPhone: "+5511987654321",
  webhookUrl: null,
  sealedWebhookSecret: null,
  brCode:
    "00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/0199a0f05f3c7c3e9d0b5a4b1c2d3e4f52040000530398654" +
    "0519.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD",
  endToEndId: null,
  trace: null,
  receiver: {
    name: "Loja do Bench",
    document: "11222333000181",
    pix_key: "11222333000181",
    pix_key_type: "cnpj",
    institution_name: "Simulated Acquirer",
    institution_ispb: "00000000",
    branch: "0001",
    account: "1",
    account_type: "payment"
  },
  expiresAtMs: 2_082_758_400_000,
  paidAtMs: null,
  refundedAmount: 0,
  failureReason: null,
  createdAtMs: 1_767_225_600_000,
  sequence: 2,
  connectionId: null
}

/** A service with only the methods that the jobs call. */
const only = <I, S extends object>(service: Context.Service<I, S>, methods: Partial<S>): Layer.Layer<I> =>
  Layer.succeed(service, methods as S)

const accepted = new Map<string, Effect.Effect<Confirmed>>()

const memory = Layer.mergeAll(
  // The key is hashed as in the service, since hashing is not work of the database.
  only(ApiKeys, {
    authenticate: (key) => {
      const hash = hashOf(key)
      const known = accepted.get(hash) ?? Effect.succeed(confirmed)
      accepted.set(hash, known)
      return known
    },
    cached: (key) => {
      hashOf(key)
      return cached
    }
  }),
  only(ChargeStore, {
    insert: () => Effect.succeed({ existing: undefined, mayEmit: true }),
    change: () => Effect.succeed(true),
    find: (id) => Effect.succeed({ ...stored, id }),
    findFor: (_, id) => Effect.succeed({ ...stored, id })
  }),
  only(Accounts, {}),
  only(Payouts, {}),
  only(NewPayouts, {}),
  only(LedgerReports, {}),
  only(WebhookEndpoints, {}),
  only(Secrets, {}),
  only(Receipts, {}),
  // The request log is built and discarded.
  Layer.succeed(SqlClient, { unsafe: () => Effect.succeed([]) } as unknown as SqlClient)
)

const acquirer = Layer.effect(
  Acquirer,
  Effect.map(SimulatedProvider, (provider) => Acquirer.of({ providerFor: () => Effect.succeed(provider) }))
).pipe(Layer.provide(Simulator.layer))

const layer = PublicServer.layer.pipe(
  Layer.provide(Layer.merge(Charges.layer, NewCharges.layer)),
  Layer.provide(ChargeEmission.layer),
  Layer.provide(acquirer),
  Layer.provide([memory, Ids.layer, Metrics.layer, PublicAddress.layer, ListenAddresses.layer, Drain.layer]),
  Layer.provide(Settings.layer)
)

NodeRuntime.runMain(Layer.launch(layer))
