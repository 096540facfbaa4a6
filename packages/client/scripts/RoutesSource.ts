/**
 * Generates `Routes.ts`: the route table, and the domain's state machines as `waitUntil` needs them.
 */
import { chargeStatusAt, chargeTransitions, ChargeStatus } from "@pix-payments/domain/Charge"
import { payoutTransitions, PayoutStatus } from "@pix-payments/domain/Payout"
import type { Operation } from "./ApiOperation.ts"
import { generatedHeader } from "./SourceText.ts"

/** The source of `Routes.ts`. */
export const routesSource = (operations: ReadonlyArray<Operation>, version: string): string => {
  const groups = Map.groupBy(operations, ({ group }) => group)
  const table = [...groups].map(
    ([group, members]) =>
      `${group}: {\n${members.map((member) => `${member.name}: ${routeSource(member)}`).join(",\n")}\n}`
  )
  return `${generatedHeader("The route of each operation of `/v1`, and the statuses that are reachable from each status.")}
/** One operation. */
export interface Route {
  readonly method: string
  readonly path: string
  /** The path has an id, which is the method's first argument. */
  readonly id?: true
  readonly body?: true
  readonly query?: true
  /** Accepts an \`Idempotency-Key\`. */
  readonly keyed?: true
  /** Returns a list. */
  readonly list?: true
  /** May return nothing. */
  readonly empty?: true
}

export const routes = { ${table.join(",\n")} } as const satisfies Record<string, Record<string, Route>>

/** The statuses of a resource, and for each status the indexes of those that are reachable from it, one digit each. */
export interface Statuses {
  readonly all: ReadonlyArray<string>
  readonly reachable: ReadonlyArray<string>
}

export const statuses: Readonly<Record<"charge" | "payout", Statuses>> = {
charge: ${statusTable(ChargeStatus.literals, reachableCharges)},
payout: ${statusTable(PayoutStatus.literals, reachablePayouts)}
}

/** The release of this package. */
export const version = ${JSON.stringify(version)}
`
}

const statusTable = <Status extends string>(
  all: ReadonlyArray<Status>,
  reachableFrom: (status: Status) => ReadonlyArray<Status>
): string => {
  if (all.length > 10) throw new Error("Statuses are encoded as one digit: there are more than ten")
  const reachable = all.map((status) =>
    reachableFrom(status)
      .map((to) => all.indexOf(to))
      .join("")
  )
  return JSON.stringify({ all, reachable })
}

/** Every status that transitions reach from this one, in any number of steps. */
const statusesFrom = <Status extends string>(
  status: Status,
  all: ReadonlyArray<Status>,
  next: (from: Status) => ReadonlyArray<Status>
): ReadonlyArray<Status> => {
  const found = new Set<Status>()
  const follow = (from: Status) => {
    for (const to of next(from)) {
      if (to === from || found.has(to)) continue
      found.add(to)
      follow(to)
    }
  }
  follow(status)
  return all.filter((to) => found.has(to))
}

const reachableCharges = (status: ChargeStatus): ReadonlyArray<ChargeStatus> =>
  statusesFrom(status, ChargeStatus.literals, (from) => [
    ...chargeTransitions.filter((transition) => transition.from.includes(from)).map(({ to }) => to),
    chargeStatusAt(from, 0, 0)
  ])

const reachablePayouts = (status: PayoutStatus): ReadonlyArray<PayoutStatus> =>
  statusesFrom(status, PayoutStatus.literals, (from) =>
    payoutTransitions.filter((transition) => transition.from.includes(from)).map(({ to }) => to)
  )

const routeSource = (operation: Operation): string => {
  const fields = [
    `method: ${JSON.stringify(operation.method)}`,
    `path: ${JSON.stringify(operation.path)}`,
    ...(operation.hasId ? ["id: true"] : []),
    ...(operation.body === undefined ? [] : ["body: true"]),
    ...(operation.query.length === 0 ? [] : ["query: true"]),
    ...(operation.isKeyed ? ["keyed: true"] : []),
    ...(operation.isList ? ["list: true"] : []),
    ...(operation.result === "void" ? ["empty: true"] : [])
  ]
  return `{ ${fields.join(", ")} }`
}
