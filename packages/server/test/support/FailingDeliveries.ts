/** Deliveries that PostgreSQL refuses, and the failures that are recorded of them. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { operated } from "./Money.ts"
import { changeSchema } from "./LiveSchema.ts"

/** As long as a host of 1,900 CJK characters is in punycode, and as hard to compress: more than a btree index takes. */
export const longUrl = `http://xn--${randomBytes(2900).toString("hex")}.example/hook`

/** PostgreSQL refuses this operation on rows of `deliveries` with this condition, as for a fault that nobody knows. */
export const poisoned = (operation: "INSERT" | "UPDATE" | "INSERT OR UPDATE", condition: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const name = `poison_${Math.trunc(performance.now() * 1000)}`
    yield* sql.unsafe(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'poisoned'; END $$`)
    yield* changeSchema(`CREATE TRIGGER ${name} BEFORE ${operation} ON deliveries FOR EACH ROW
      WHEN (${condition}) EXECUTE FUNCTION ${name}()`)
    return { mend: changeSchema(`DROP TRIGGER ${name} ON deliveries`) }
  })

export interface Failure {
  readonly id: string
  readonly change_id: string
  readonly endpoint_id: string | null
  readonly error: string
  readonly failures: number
}

export const failuresOf = (endpointId: string | null) =>
  Effect.map(operated<{ data: ReadonlyArray<Failure> }>("GET", "/outbox-failures?limit=100"), ({ data }) =>
    data.filter(({ endpoint_id }) => endpoint_id === endpointId)
  )
