/**
 * How answers of 2xx are decoded.
 *
 * Guarantees
 * - Money is cents, instants are epoch milliseconds. Null and absent are the same. Unknown fields are ignored.
 * - An answer of another shape is `Unclear`: it may still mean "done".
 * - An entry of a list that cannot be decoded hides no other entry; it is counted.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Answer, type Operation, Unclear } from "./Outcome.ts"

export const Text = Schema.NonEmptyString
export const absent = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullishOr(schema))
export const Reais = Schema.String.check(Schema.isPattern(/^\d{1,10}\.\d{2}$/))
export const At = Schema.String.check(Schema.makeFilter((text) => parseInstant(text) !== undefined))
export const Count = Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(/^\d+$/))])

export const PageParameters = Schema.Struct({
  paginacao: Schema.Struct({ paginaAtual: Count, quantidadeDePaginas: Count })
})

/** `"12.34"` is 1234. */
export const centsOf = (reais: string): number => Number(reais.replace(".", ""))
export const atMs = (text: string | null | undefined): number | undefined =>
  text === null || text === undefined ? undefined : parseInstant(text)

/** A page of a list. */
export interface Entries<A> {
  readonly items: ReadonlyArray<A>
  /** The number of entries of another shape. */
  readonly unreadable: number
}

/** Entries as the provider sent them, for `entriesOf`. */
export const RawEntries = absent(Schema.Array(Schema.Unknown))

export const entriesOf = <S extends Schema.ConstraintDecoder<unknown>, A>(
  schema: S,
  from: (message: S["Type"]) => A
): ((entries: ReadonlyArray<unknown> | null | undefined) => Entries<A>) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (entries) => {
    const all = entries ?? []
    const items = all.flatMap((entry) => Option.toArray(Option.map(decode(entry), from)))
    return { items, unreadable: all.length - items.length }
  }
}

export type Decode<A> = (operation: Operation, answer: Answer) => Effect.Effect<A, Unclear>

export const decoder = <S extends Schema.ConstraintDecoder<unknown>, A>(
  schema: S,
  from: (message: S["Type"]) => A
): Decode<A> => {
  const decode = Schema.decodeUnknownOption(schema)
  return ({ name: operation }, { status, body }) =>
    Option.match(decode(body), {
      onNone: () =>
        Effect.fail(
          new Unclear({ operation, kind: "unknown-answer", reason: `status ${status} with an unknown body` })
        ),
      onSome: (message) => Effect.succeed(from(message))
    })
}
