/** A drill: keys are revoked while two server processes answer with them at full load. */
import { assert, layer } from "@effect/vitest"
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../support/Process.ts"
import { newKey } from "../support/TestService.ts"

const REVOCATIONS = 50
const ACCEPTED_BEFORE = 100
const ASKED_AFTER = 100
const CALLERS = 16

layer(Layer.empty, { excludeTestServices: true })("Two processes under load", (it) => {
  it.effect("KEY-4: accept none of 5,000 requests that begin after their key was revoked", () =>
    Effect.gen(function* () {
      const env = {
        DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN
      }
      const services = [yield* startProcess(env), yield* startProcess(env)] as const
      yield* Effect.promise(async () => {
        const application = await makeApplication(services[0])
        const after: Array<number> = []
        for (let round = 0; round < REVOCATIONS; round++) {
          const { id, key } = await operated(services[0], `/applications/${application}/keys`, {
            name: "drill",
            scopes: ["charge:read", "charge:write"]
          })
          const enough = Promise.withResolvers<void>()
          let accepted = 0
          let isRevoked = false
          let askedAfter = 0
          const caller = async (_: unknown, index: number) => {
            while (askedAfter < ASKED_AFTER) {
              const isAfter = isRevoked
              if (isAfter) askedAfter++
              const status = await ask(services[index % 2]!, key, asks[round % asks.length]!)
              if (isAfter) after.push(status)
              else if (status === 401) continue
              else if (status >= 300 && status !== 404) throw new Error(`status ${status}`)
              else if (++accepted === ACCEPTED_BEFORE) enough.resolve()
            }
          }
          const callers = Promise.all(Array.from({ length: CALLERS }, caller))
          await Promise.race([enough.promise, callers])
          try {
            await operated(services[round % 2]!, `/keys/${id}/revoke`, undefined)
          } finally {
            isRevoked = true
            await callers
          }
        }
        assert.isAtLeast(after.length, REVOCATIONS * ASKED_AFTER)
        assert.deepStrictEqual([...new Set(after)], [401])
      })
    })
  )
})

const OPERATOR_TOKEN = "the operator's token of these tests"

const operated = async ({ operatorUrl }: ServiceProcess, path: string, body: object | undefined) => {
  const response = await fetch(`${operatorUrl}/operator/v1${path}`, {
    method: "POST",
    headers: { "x-operator-token": OPERATOR_TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body ?? {})
  })
  assert.isBelow(response.status, 300)
  return (await response.json()) as { readonly id: string; readonly key: string }
}

const makeApplication = async (service: ServiceProcess): Promise<string> => {
  const account = await operated(service, "/accounts", {
    name: "Loja",
    legal_name: "Loja Ltda",
    document: "11222333000181",
    phone: "+5511999990000"
  })
  return (await operated(service, `/accounts/${account.id}/applications`, { name: "Loja" })).id
}

/**
 * Statements of pages, of look-ups by id, and of creations check a cached caller again, each in its own way. A round has one of them: the
 * first that is refused makes its process forget the caller.
 */
const asks = [
  { path: "/v1/charges" },
  { path: `/v1/charges/${NIL_UUID}` },
  {
    path: "/v1/charges",
    body: { amount: 1990, customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" } }
  }
]

const ask = async ({ publicUrl }: ServiceProcess, key: string, { body, path }: (typeof asks)[number]) => {
  const response = await fetch(`${publicUrl}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": key, "idempotency-key": newKey(), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  await response.arrayBuffer()
  return response.status
}
