/**
 * Limits how many writes of a pool run at once.
 *
 * Guarantees:
 * - Reads keep a quarter of the connections.
 * - Writes of one account use at most a quarter of the slots, so that one whose rows are locked delays only its own.
 * - A write keeps its slot until it ends, also while its commit waits for a standby.
 */
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import * as Semaphore from "effect/Semaphore"
import type { SqlClient } from "effect/sql/SqlClient"

/**
 * A write that waits for a slot first; a write of an account waits for one of the account's slots before. `hasStarted` is
 * true once it has one.
 */
export const withWriteSlot = <A, E, R>(
  sql: SqlClient,
  write: Effect.Effect<A, E, R>,
  accountId?: string
): { readonly effect: Effect.Effect<A, E, R>; readonly hasStarted: () => boolean } => {
  let hasStarted = false
  const slots = slotsOf(sql)
  const slotted = Effect.suspend(() => {
    slots.use.waiting++
    const running = Effect.suspend(() => {
      hasStarted = true
      slots.use.waiting--
      slots.use.running++
      return Effect.ensuring(
        write,
        Effect.sync(() => void slots.use.running--)
      )
    })
    return Effect.onInterrupt(slots.all.withPermits(1)(running), () =>
      Effect.sync(() => {
        if (!hasStarted) slots.use.waiting--
      })
    )
  })
  return {
    effect: accountId === undefined ? slotted : withAccountSlot(slots, accountId, slotted),
    hasStarted: () => hasStarted
  }
}

/** How many writes of a pool run, and how many wait for a slot. */
export const writeSlotUse = (sql: SqlClient): { readonly running: number; readonly waiting: number } => slotsOf(sql).use

interface Slots {
  readonly all: Semaphore.Semaphore
  readonly use: { running: number; waiting: number }
  readonly perAccount: number
  /** Accounts with a write that runs or waits. */
  readonly accounts: Map<string, { readonly semaphore: Semaphore.Semaphore; writes: number }>
}

const withAccountSlot = <A, E, R>(
  { accounts, perAccount }: Slots,
  accountId: string,
  write: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const account = accounts.get(accountId) ?? { semaphore: Semaphore.makeUnsafe(perAccount), writes: 0 }
    accounts.set(accountId, account)
    account.writes++
    return Effect.ensuring(
      account.semaphore.withPermits(1)(write),
      Effect.sync(() => {
        account.writes--
        if (account.writes === 0) accounts.delete(accountId)
      })
    )
  })

const slotsByClient = new WeakMap<SqlClient, Slots>()

const slotsOf = (sql: SqlClient): Slots => {
  let slots = slotsByClient.get(sql)
  if (slots === undefined) {
    const count = writeSlotsOf(connectionsOf(sql))
    slots = {
      all: Semaphore.makeUnsafe(count),
      use: { running: 0, waiting: 0 },
      perAccount: Math.max(1, Math.floor(count / ACCOUNT_SHARE)),
      accounts: new Map()
    }
    slotsByClient.set(sql, slots)
  }
  return slots
}

const ACCOUNT_SHARE = 4

/** The write slots of a pool with so many connections. */
export const writeSlotsOf = (connections: number): number => connections - Math.max(1, Math.floor(connections / 4))

const connectionsOf = (sql: SqlClient): number => {
  const config = hasProperty(sql, "config") ? sql.config : undefined
  const maxConnections = hasProperty(config, "maxConnections") ? config.maxConnections : undefined
  return typeof maxConnections === "number" ? maxConnections : 10
}
