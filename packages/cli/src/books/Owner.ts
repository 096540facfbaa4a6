/** Whose books a command is about: `--account` or `--connection`. */
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flag from "effect/cli/Flag"
import { type Failure, usage } from "../Failure.ts"

export const ownerFlags = {
  account: Flag.String("account").pipe(Flag.withDescription("Of an account (id)"), Flag.optional),
  connection: Flag.String("connection").pipe(
    Flag.withDescription("Of a bank account (id of a connection)"),
    Flag.optional
  )
}

export interface Owner {
  readonly kind: "account" | "connection"
  readonly id: string
}

/** The one of both that was given. */
export const ownerOf = (flags: {
  readonly account: Option.Option<string>
  readonly connection: Option.Option<string>
}): Effect.Effect<Owner, Failure> => {
  const given = (["account", "connection"] as const).flatMap((kind) =>
    Option.match(flags[kind], { onNone: () => [], onSome: (id): ReadonlyArray<Owner> => [{ kind, id }] })
  )
  const [owner] = given
  if (owner === undefined || given.length > 1) return Effect.fail(usage("Give --account or --connection."))
  return isUuid(owner.id) ? Effect.succeed(owner) : Effect.fail(usage(`Not an id: ${owner.id}`))
}

/** The operation of the declaration that is about these books: `accountBooks.closes`. */
export const operationOf = ({ kind }: Pick<Owner, "kind">, name: "closes" | "statement"): string =>
  `${kind}Books.${name}`
