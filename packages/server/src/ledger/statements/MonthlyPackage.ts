/**
 * A month of an account or a bank account as one zip: all its statements, and the closes of its days.
 *
 * Guarantees (OPR-261):
 * - Memory is that of a piece of one statement: the files are made, compressed and sent one after the other.
 * - A package that was cut off has no directory, and no program opens it.
 * - The names of a month that has not ended, or whose days are not all closed, say so, and until which day it is.
 */
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Zip from "effect/encoding/Zip"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../../database/Unavailable.ts"
import { toClose } from "../BookResources.ts"
import { Closes } from "../Closes.ts"
import type { BooksOf } from "../Lines.ts"
import { brazilian, closesCsv, csv } from "./Csv.ts"
import type { Format, StatementFacts } from "./Format.ts"
import { type Chart, journal } from "./Journal.ts"
import { jsonLines } from "./JsonLines.ts"
import { ofx1, ofx2 } from "./Ofx.ts"
import { Statements } from "./Statements.ts"

export interface PackageOf {
  readonly of: BooksOf
  readonly name: string
  /** `yyyy-mm`. */
  readonly month: string
  readonly chart: Chart
  readonly bank: StatementFacts["bank"]
  /** What the names of the files begin with, and the last day that its statements name: of `reachOfMonth`. */
  readonly fileName: string
  readonly until: string
}

/** The bytes of a package. */
export const monthlyPackage = Effect.gen(function* () {
  const statements = yield* Statements
  const closes = yield* Closes

  return ({
    bank,
    chart,
    fileName,
    month,
    name,
    of,
    until
  }: PackageOf): Stream.Stream<Uint8Array, Unavailable | Zip.ZipError> => {
    const { from, to } = daysOf(month)
    const statement = (format: Format) =>
      Stream.fromPull(
        Effect.sync(() => {
          const next = statements.pieces({ of, name, from, to, until, format, bank, isClear: false })
          return Effect.flatMap(next, (piece) =>
            piece === undefined ? Cause.done() : Effect.succeed([piece] as const)
          )
        })
      )
    const closesOfMonth = Stream.fromEffect(
      Effect.map(closes.between(of, from, to), (rows) =>
        new TextEncoder().encode(closesCsv(rows.map(toClose), brazilian))
      )
    )
    const files: ReadonlyArray<readonly [string, Stream.Stream<Uint8Array, Unavailable>]> = [
      ["csv", statement(csv(brazilian))],
      ["ofx", statement(ofx1)],
      ["2.2.ofx", statement(ofx2)],
      ["journal.csv", statement(journal(chart, { decimal: ",", bom: false }))],
      ["jsonl", statement(jsonLines)],
      ["closes.csv", closesOfMonth]
    ]
    return Stream.fromIterable(files.map(([ending, body]) => Zip.fileStream(`${fileName}.${ending}`, body))).pipe(
      Stream.pipeThroughChannel(Zip.encode())
    )
  }
})

/** How far the package of a month reaches, and what its name ends in: `2026-11`, or `2026-11-incomplete-until-2026-11-27`. */
export const reachOfMonth = Effect.map(Closes, (closes) => (of: BooksOf, month: string) => {
  const { from, to } = daysOf(month)
  return Effect.map(closes.reach(of, from, to), ({ is_closed, until }) => ({
    until,
    name: is_closed ? month : `${month}-incomplete-until-${until}`
  }))
})

/** The first and the last day of a month. */
const daysOf = (month: string) => {
  const [year = 0, number = 0] = month.split("-").map(Number)
  return { from: `${month}-01`, to: formatInstant(Date.UTC(year, number, 0)).slice(0, 10) }
}
