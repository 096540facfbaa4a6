/**
 * A hostile tenant: it registers many endpoints that never answer, stores addresses that make
 * statements fail, floods, pauses, changes and deletes.
 *
 * Looked at meanwhile, with no other fault:
 * - a call of another tenant is answered within `ANSWER_LIMIT_MS` of virtual time;
 * - a delivery of another tenant is attempted within `ATTEMPT_LIMIT_MS` of its change;
 * - no loop's round fails as a whole, and no row fails alone twice in one process;
 * - money moves: the hostile tenant's own charges are paid, whatever its endpoints are.
 */
import type { Callers, Merchant } from "./Callers.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import type { Server } from "./SqlServer.ts"
import type { Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import { customer } from "./Operations.ts"
import type { Receivers } from "./Receivers.ts"
import type { ServerProcess } from "./ServerProcess.ts"

/** Whether the history of a seed has a hostile tenant: some of them, for it takes ten times as long. */
export const isHostile = (seed: number): boolean => seed % ONE_IN === 0

/** A seed near this one whose history has a hostile tenant. */
export const hostileSeed = (seed: number): number => seed - (seed % ONE_IN)

/** Triggers that make statements fail for rows with such an address, as a fault that nobody thought of would. */
export const poison: ReadonlyArray<string> = [
  `CREATE FUNCTION simulation_poison() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' AND NEW.url LIKE '%/poison/insert' THEN RAISE EXCEPTION 'poisoned insert'; END IF;
      IF NEW.status = 'delivering' AND NEW.url LIKE '%/poison/claim' THEN RAISE EXCEPTION 'poisoned claim'; END IF;
      IF TG_OP = 'UPDATE' AND NEW.attempts_made > OLD.attempts_made AND NEW.url LIKE '%/poison/record'
        THEN RAISE EXCEPTION 'poisoned record'; END IF;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER simulation_poison BEFORE INSERT OR UPDATE ON deliveries
    FOR EACH ROW WHEN (NEW.url LIKE '%/poison/%') EXECUTE FUNCTION simulation_poison()`
]

/** Deliveries to such an address never come to an ordinary end. */
export const isPoisoned = (url: string): boolean => url.includes("/poison/")

/** Its receivers never answer. */
export const hangs = (url: string): boolean => url.includes("/hang")

export const besiege = async (options: {
  readonly machine: Machine
  readonly server: Server
  readonly database: Database
  readonly calls: Calls
  readonly callers: Callers
  readonly institutions: Institutions
  readonly receivers: Receivers
  readonly process: ServerProcess
  readonly until: (isDone: () => boolean) => Promise<void>
}): Promise<ReadonlyArray<string>> => {
  const { callers, calls, database, institutions, machine, process, receivers, server, until } = options
  const broken: Array<string> = []
  const wasRefused = (id: string | undefined) => id !== undefined && institutions.wasRefused(id)
  const begunAt = machine.history.length
  machine.note(undefined, "a hostile tenant comes")
  machine.count("hostile tenants")
  const [honest] = callers.merchants as ReadonlyArray<Merchant>
  /** Its receivers hang. */
  const hanging = await callers.join(process, until, true)
  /** Its addresses make statements fail. */
  const poisonous = await callers.join(process, until, true)

  const register = ({ endpoints, key }: Merchant, url: string) =>
    calls.request(
      process,
      "register a hostile endpoint",
      { method: "POST", path: "/v1/webhooks", key, body: { url, events: ["charge.pix.created", "charge.pix.paid"] } },
      ({ body, status }) => {
        if (status === 201) endpoints.add((body as { readonly id: string }).id)
        else broken.push(`a hostile endpoint is answered with ${status}`)
      }
    )
  for (let i = 0; i < ENDPOINTS; i++) register(hanging, `https://11.0.0.${i + 1}/hang`)
  for (const what of ["insert", "claim", "record"]) register(poisonous, `https://11.0.1.1/poison/${what}`)
  await until(() => calls.waiting() === 0 && server.isQuiet())
  // What no registration takes today, and an earlier release did.
  await database.query(
    `UPDATE webhook_endpoints SET url = 'https://' || repeat('漢', 1900) || '/hang',
       destination = 'https://' || repeat('xn--c1yn36f', 500), normalized_url = 'https://' || repeat('漢', 1900) || '/hang'
     WHERE id = (SELECT id FROM webhook_endpoints WHERE account_id = $1::uuid ORDER BY id LIMIT 1)`,
    [hanging.accountId]
  )

  const flood = (merchant: Merchant, charges: number) => {
    for (let i = 0; i < charges; i++) {
      const url = merchant === hanging ? "https://11.0.2.1/hang" : "https://11.0.2.2/poison/insert"
      callers.create("charge", merchant, { amount: 1000, customer, webhook_url: url }).ask(process)
    }
  }
  const change = ({ endpoints, key }: Merchant) => {
    const id = machine.pick([...endpoints])
    const path = `/v1/webhooks/${id}`
    if (machine.random() < 0.1) {
      return calls.request(process, "delete a hostile endpoint", { method: "DELETE", path, key }, () =>
        endpoints.delete(id)
      )
    }
    const body = machine.pick([
      { active: false },
      { active: true },
      { url: `https://11.0.3.${1 + machine.below(200)}/hang` },
      { events: ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"] }
    ])
    calls.request(process, "change a hostile endpoint", { method: "PATCH", path, key, body }, () => {})
  }

  flood(hanging, FLOOD)
  flood(poisonous, 2)
  // Until as much is in flight as may be.
  await until(() => calls.waiting() === 0)
  let [most, sinceMs] = [-1, machine.nowMs()]
  await until(() => {
    if (receivers.inFlight() > most) [most, sinceMs] = [receivers.inFlight(), machine.nowMs()]
    return machine.ready().length === 0 && machine.nowMs() - sinceMs > CAPACITY_WAIT_MS
  })
  machine.note(undefined, `${most} deliveries are in flight`)
  if (most < LEAST_IN_FLIGHT) broken.push(`the hostile tenant has no more than ${most} deliveries in flight`)
  for (let round = 0; round < ROUNDS && broken.length === 0; round++) {
    for (let i = 0; i < CHANGES; i++) change(hanging)
    flood(hanging, 1)
    flood(poisonous, 1)
    const askedAtMs = machine.nowMs()
    const operation = callers.create("charge", honest!, {
      amount: 1000,
      customer,
      webhook_url: "https://12.0.0.1/honest"
    })
    operation.ask(process)
    await until(() => operation.isSettled)
    const tookMs = machine.nowMs() - askedAtMs
    if (tookMs > ANSWER_LIMIT_MS) broken.push(`${operation.name} of another tenant is answered after ${tookMs} ms`)
    const { id } = operation
    const isAttempted = () => [...receivers.received.values()].some(({ resourceId }) => resourceId === id)
    const waitsFromMs = machine.nowMs()
    await until(() => isAttempted() || machine.nowMs() - waitsFromMs > ATTEMPT_LIMIT_MS || wasRefused(id))
    if (!isAttempted() && !wasRefused(id)) {
      broken.push(`the event of ${operation.name} of another tenant is not attempted after ${ATTEMPT_LIMIT_MS} ms`)
    }
  }
  callers.pay(process, hanging, 2)
  callers.pay(process, poisonous, 2)
  await until(() => calls.waiting() === 0)
  broken.push(...failedTwice(machine.history.slice(begunAt)))
  machine.note(undefined, "the hostile tenant has done its worst")
  return broken
}

/** Rounds that failed as a whole, and rows that failed alone more than once in a process. */
const failedTwice = (history: ReadonlyArray<string>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  const broken: Array<string> = []
  for (const line of history) {
    if (line.includes("a round failed and is retried")) broken.push(`with a hostile tenant: ${line}`)
    const [, what] = /(\S+ +log: .* (?:change|delivery) \S+) fails alone/.exec(line) ?? []
    if (what === undefined) continue
    const count = (counts.get(what) ?? 0) + 1
    counts.set(what, count)
    if (count === 2) broken.push(`fails alone twice: ${what}`)
  }
  return broken
}

const ONE_IN = 50
// More deliveries at once than a process has places.
const ENDPOINTS = 60
const FLOOD = 18
const ROUNDS = 4
const CHANGES = 3
const LEAST_IN_FLIGHT = 150
// Longer than changes wait for capacity in the outbox.
const CAPACITY_WAIT_MS = 1000
const ANSWER_LIMIT_MS = 300
const ATTEMPT_LIMIT_MS = 300
