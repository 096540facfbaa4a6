/**
 * A list of several cells as one: each profile is a cell. CLI-48.
 *
 * Guarantees:
 * - Items are in the order of their ids, newest first, or oldest first where the list is; each names its cell.
 * - A cell that does not answer is named, and the command ends with its exit code, after the items of the others.
 * - A page of each cell is in memory.
 */
import * as Effect from "effect/Effect"
import { Failure, usage } from "../Failure.ts"
import { call, type Service } from "../OperatorClient.ts"
import { type Row, showTable, writeJson } from "../Output.ts"
import { profilesNamed } from "../Profile.ts"
import { drained, jsonOf, notice, write } from "../Terminal.ts"
import { DEFAULT_LIMIT, type Listing, type Page, PAGE } from "./Pages.ts"

/** Shows the list of these cells: the names of profiles, or `all`. */
export const showCells = Effect.fnUntraced(function* (names: string, listing: Listing) {
  if (listing.query["starting_after"] !== undefined) {
    return yield* usage("--starting-after is a position in one cell: use --profile instead of --cells.")
  }
  const cells = (yield* profilesNamed(names)).map(readerOf)
  const limit = listing.isAll ? Infinity : (listing.limit ?? DEFAULT_LIMIT)
  const isOnePage = limit <= PAGE
  const sign = listing.query["order"] === "asc" ? 1 : -1
  const failures: Array<Failure> = []
  const items: Array<Row> = []
  let count = 0
  while (count < limit) {
    yield* Effect.forEach(cells, (cell) => fill(cell, listing, Math.min(PAGE, limit - count), failures), {
      concurrency: "unbounded",
      discard: true
    })
    const waiting = cells.filter(({ buffer }) => buffer.length > 0)
    if (waiting.length === 0) break
    const first = waiting.reduce((one, other) => (sign * compare(idOf(one), idOf(other)) <= 0 ? one : other))
    const item = { cell: first.name, ...first.buffer.shift()! }
    count += 1
    if (listing.json && !isOnePage) {
      write(`${jsonOf(item)}\n`)
      yield* drained
      continue
    }
    items.push(item)
    if (isOnePage || items.length < PAGE) continue
    showTable(items, "", count === items.length)
    items.length = 0
    yield* drained
  }
  const isMore = cells.some(({ buffer, isEnd }) => buffer.length > 0 || !isEnd)
  if (listing.json && isOnePage) writeJson({ object: "list", data: items, has_more: isMore })
  else if (items.length > 0) showTable(items, "", count === items.length)
  if (!listing.json && count === 0) notice("None.")
  if (!listing.json && isMore) notice(`There are more: --limit ${count * 2}, or --all.`)
  const [failure] = failures
  if (failure !== undefined) {
    const message = failures.map((each) => each.message).join("\n")
    return yield* new Failure({ message, exitCode: failure.exitCode })
  }
})

/** A cell as far as it was read. */
interface Reader {
  readonly name: string
  readonly service: Service
  readonly buffer: Array<Row>
  after: unknown
  isEnd: boolean
}

const readerOf = (cell: { readonly name: string } & Service): Reader => ({
  name: cell.name,
  service: cell,
  buffer: [],
  after: undefined,
  isEnd: false
})

/** Reads the next page of a cell that has nothing in memory. */
const fill = (cell: Reader, { operation, params, query }: Listing, limit: number, failures: Array<Failure>) =>
  Effect.gen(function* () {
    if (cell.buffer.length > 0 || cell.isEnd) return
    const { body } = yield* call(cell.service, operation, {
      params,
      query: { ...query, limit, ...(cell.after === undefined ? {} : { starting_after: cell.after }) }
    })
    const { data, has_more: hasMore, next } = body as Page
    cell.buffer.push(...data)
    cell.after = next ?? data.at(-1)?.["id"]
    cell.isEnd = !hasMore || cell.after === undefined
  }).pipe(
    Effect.catch(({ exitCode, message }) =>
      Effect.sync(() => {
        cell.isEnd = true
        failures.push(new Failure({ message: `${cell.name}: ${message}`, exitCode }))
      })
    )
  )

const idOf = ({ buffer }: Reader): string => String(buffer[0]?.["id"] ?? "")

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
