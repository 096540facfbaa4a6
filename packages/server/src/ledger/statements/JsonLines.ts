/**
 * Statements as JSON Lines: all that the service knows of each transfer, with what closes hash, and the closes of these days.
 *
 * `examples/verify-books.py` recomputes balances, hashes and totals from it.
 */
import type { Format } from "./Format.ts"

export const jsonLines: Format = {
  contentType: "application/jsonl",
  extension: "jsonl",
  isComplete: true,
  begin: ({ book, from, name, opening, ownerId, timezone, to }) =>
    lineOf({ object: "statement", book, owner_id: ownerId, name, from, to, timezone, opening }),
  line: ({ movement, transaction }) =>
    lineOf({
      ...transaction,
      entry: {
        debit: movement.debit,
        credit: movement.credit,
        amount: Number(movement.amount),
        fee: orNull(movement.fee),
        debit_after: orNull(movement.debit_after),
        credit_after: orNull(movement.credit_after),
        reason: movement.reason,
        resource_id: movement.resource_id,
        source_id: movement.source_id
      }
    }),
  end: ({ closes, closing, lines }) => [...closes, { object: "statement_end", lines, closing }].map(lineOf).join("")
}

const orNull = (value: bigint | null): number | null => (value === null ? null : Number(value))

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`
