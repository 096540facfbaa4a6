/** Each idempotency key has one resource, whatever happened to its calls: IDEM-3 to IDEM-6, IDEM-9, CHG-3. */
import { type Call, type Conviction, type Fields, type History, spanOf, textOf } from "./History.ts"

export const judgeKeys = ({ calls }: History): ReadonlyArray<Conviction> => {
  const convictions: Array<Conviction> = []
  const owners = new Map<string, string>()
  const creations = calls.filter(({ op }) => op === "charge.create" || op === "payout.create")
  for (const [name, attempts] of Map.groupBy(creations, ({ account, key, op }) => `${op} ${key} of ${account}`)) {
    const convict = (rule: string, says: string, culprits: ReadonlyArray<Call>) =>
      convictions.push({
        rule,
        subject: name,
        says,
        spans: attempts.map((call) => spanOf(call, culprits.includes(call)))
      })
    const named = attempts.filter((call) => resourceOf(call) !== undefined)
    const ids = new Set(named.map((call) => textOf(resourceOf(call), "id")))
    if (ids.size > 1) convict("IDEM-4, IDEM-9", `the key has ${ids.size} resources: ${[...ids].join(", ")}`, named)
    for (const id of ids) {
      const other = owners.get(id)
      if (other !== undefined && other !== name) convict("IDEM-3", `${id} is also the resource of ${other}`, named)
      owners.set(id, name)
    }
    const created = attempts.filter(({ replayed, status }) => status === 201 && replayed !== true)
    if (created.length > 1)
      convict("IDEM-5", `${created.length} calls were answered as the one that created it`, created)
    if (attempts.length === 1 && attempts[0]!.replayed === true) {
      convict("IDEM-4", "a replay of a key that nobody had used", attempts)
    }
    differing(named).forEach(([field, call]) =>
      convict("IDEM-4", `${field} differs between answers of the key`, [call])
    )
    forgotten(attempts).forEach((call) =>
      convict("IDEM-4, IDEM-7", `answered ${call.status} after the key had its resource`, [call])
    )
    foreign(attempts).forEach(([field, call]) =>
      convict("IDEM-4", `${field} is not what any call of the key asked for`, [call])
    )
  }
  return convictions
}

/** The resource that an answer names: also the charge of a refusal by the acquirer. */
const resourceOf = ({ body, status }: Call): Fields | undefined => {
  if (status === 201) return body
  const id = textOf(body, "charge_id")
  return status === 422 && id !== "" ? { id } : undefined
}

/** What never changes in a resource. */
const CONSTANT = [
  "amount",
  "fee",
  "currency",
  "method",
  "description",
  "reference",
  "customer",
  "recipient",
  "webhook_url",
  "expires_at",
  "created_at"
]

const differing = (named: ReadonlyArray<Call>): ReadonlyArray<readonly [string, Call]> => {
  const answers = named.filter(({ status }) => status === 201)
  const [first, ...others] = answers
  if (first === undefined) return []
  return others.flatMap((call) =>
    CONSTANT.filter((field) => JSON.stringify(call.body?.[field]) !== JSON.stringify(first.body?.[field])).map(
      (field) => [field, call] as const
    )
  )
}

/** Calls that began after the key had its resource, and were answered as if it had none. */
const forgotten = (attempts: ReadonlyArray<Call>): ReadonlyArray<Call> => {
  const knownAt = Math.min(
    ...attempts.filter((call) => resourceOf(call) !== undefined).map(({ answeredAt }) => answeredAt!)
  )
  return attempts.filter(
    (call) =>
      call.calledAt > knownAt &&
      call.status !== undefined &&
      call.status >= 400 &&
      call.status < 500 &&
      call.status !== 429
  )
}

/** A key's resource is made of a body that was sent with it. */
const foreign = (attempts: ReadonlyArray<Call>): ReadonlyArray<readonly [string, Call]> =>
  attempts
    .filter(({ status }) => status === 201)
    .flatMap((call) =>
      ["amount", "reference"]
        .filter((field) => !attempts.some(({ request }) => request?.[field] === call.body?.[field]))
        .map((field) => [field, call] as const)
    )
