/** Exceptions: connections, the notifications of their providers, and what became of the money. */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { assert } from "@effect/vitest"
import type { AcquirerException } from "@pix-payments/api/operator/Exceptions"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification } from "../../src/providers/AcquirerNotification.ts"
import { AcquirerNotifications } from "../../src/reports/AcquirerNotifications.ts"
import { newEndToEndId } from "../../src/providers/simulator/SimulatedInstitution.ts"
import { operated } from "./Money.ts"

/** The txid of a charge. */
export const txidOf = (chargeId: string): string => chargeId.replaceAll("-", "")

/** An end-to-end id that no other Pix has. */
export const newPix = (): string => newEndToEndId(Date.UTC(2026, 10, 21))

/** An exception, with the amounts as plain numbers. */
export interface Exception extends Omit<AcquirerException, "amount" | "expected_amount"> {
  readonly amount: number
  readonly expected_amount: number | null
}

/** A notification as a webhook or a sweep brings it. */
export const notified = (notification: AcquirerNotification) =>
  AcquirerNotifications.use(({ receive }) => receive(notification))

export const paymentOf = (
  chargeId: string,
  fields: Partial<Extract<AcquirerNotification, { _tag: "charge.paid" }>> = {}
): Extract<AcquirerNotification, { _tag: "charge.paid" }> => ({
  _tag: "charge.paid",
  txid: chargeId === "" ? "" : txidOf(chargeId),
  endToEndId: newPix(),
  ...fields
})

/** The exceptions of a Pix, oldest first. */
export const exceptionsOf = (endToEndId: string | undefined) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ id: string }>`
      SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId ?? null} ORDER BY id`
    return yield* Effect.forEach(rows, ({ id }) => operated<Exception>("GET", `/exceptions/${id}`))
  })

/** The only exception of a Pix. */
export const exceptionOf = (endToEndId: string | undefined) =>
  Effect.map(exceptionsOf(endToEndId), (all) => {
    assert.lengthOf(all, 1)
    return all[0]!
  })

export const resolved = (id: string, body: unknown, status = 200) =>
  operated<Exception>("POST", `/exceptions/${id}/resolve`, body, status)

/** Cents in `unallocated` of a connection, by default the simulator's. */
export const unallocated = (connectionId: string = SIMULATOR_CONNECTION) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ balance: bigint }>`SELECT balance FROM ledger_accounts
        WHERE owner_id = ${connectionId}::uuid AND kind = 'unallocated'`,
      ([row]) => Number(row?.balance)
    )
  )

/** Another connection, with its ledger accounts. */
export const newConnection = (rule: "hold" | "return" | "accept" = "hold") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ id: string }>`
      INSERT INTO acquirer_connections (id, name, kind, exception_rule, created_at)
      VALUES (uuidv7(), 'Bank', 'simulator', ${rule}, now()) RETURNING id`
    yield* sql`INSERT INTO ledger_accounts (owner_id, kind)
      VALUES (${row!.id}::uuid, 'unallocated'), (${row!.id}::uuid, 'acquirer') ON CONFLICT DO NOTHING`
    return row!.id
  })

/** Gives a charge to another connection. */
export const movedTo = (connectionId: string, chargeId: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE charges SET connection_id = ${connectionId}::uuid WHERE id = ${chargeId}::uuid`
  )
