/**
 * How answers of 2xx and callbacks are read: a strict core, and the rest field by field.
 *
 * Guarantees
 * - The core (ids, key, amount, state) is read with `required` and `optional`: where one of it cannot be read, the message or
 *   entry cannot, and the reason names the field. Everything else is read with `field`: what cannot be read is absent.
 * - An unreadable entry of a list hides no other. It is set apart, with what arrived.
 * - Money is cents, instants are epoch milliseconds. Null, empty text and absent are the same. Unknown fields are ignored.
 * - Text is bounded. A control character or half of a character makes an id unreadable and is removed from other text.
 * - Any JSON gives a result; nothing throws.
 */
import { parseReais } from "@pix-payments/domain/Cents"
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Result from "effect/Result"

/** What is needed to read an answer, and what was set apart so far. */
export interface Reading {
  /** When the answer was seen. */
  readonly nowMs: number
  /** Of instants without an offset. */
  readonly zone: string
  readonly unreadable: Array<Unreadable>
}

/** An entry of a list that cannot be read. */
export interface Unreadable {
  /** What arrived, as JSON of at most 4 KiB. Of an entry within another one, beside the other one's end-to-end id. */
  readonly text: string
  readonly reason: string
  /** The same however the entry is written the next time; undefined where it has no id that can be read. */
  readonly name: string | undefined
  /** Of the Pix that it is, or is within; undefined where that cannot be read. */
  readonly endToEndId: string | undefined
  /** What says whose it is, as far as it can be read: its own, or that of the entry that it is within. */
  readonly marks: {
    readonly txid: string | undefined
    readonly endToEndId: string | undefined
    readonly key: string | undefined
  }
}

/** Fails with a reason that names the field. */
export type Decode<A> = (message: unknown, reading: Reading) => Result.Result<A, string>

/** Reads one value; undefined where it is of another form. */
export type Read<A> = (value: unknown) => A | undefined

/** A field of the message, or of the objects in it: `valor.original`. */
export const field = (message: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce((value, name) => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined), message)

export const isAbsent = (value: unknown): value is undefined | null | "" =>
  value === undefined || value === null || value === ""

/** A field of the core. */
export const required = <A>(message: unknown, path: string, read: Read<A>): Result.Result<A, string> =>
  Result.flatMap(optional(message, path, read), (value) =>
    value === undefined ? Result.fail(`${path} is missing`) : Result.succeed(value)
  )

/** A field of the core that may be absent. */
export const optional = <A>(message: unknown, path: string, read: Read<A>): Result.Result<A | undefined, string> => {
  const value = field(message, path)
  if (isAbsent(value)) return Result.succeed(undefined)
  const found = read(value)
  return found === undefined ? Result.fail(`${path} cannot be read`) : Result.succeed(found)
}

export const matching =
  (pattern: RegExp): Read<string> =>
  (value) =>
    typeof value === "string" && pattern.test(value) ? value : undefined

export const id = matching(/^[!-~]{1,64}$/)
export const pixKey = matching(/^[!-~]{1,77}$/)
export const amount: Read<number> = parseReais
export const positiveAmount: Read<number> = (value) => {
  const cents = parseReais(value)
  return cents === 0 ? undefined : cents
}
/** Below zero where it begins with a minus. */
export const signedAmount: Read<number> = (value) => {
  const isBelow = typeof value === "string" ? value.startsWith("-") : typeof value === "number" && value < 0
  if (!isBelow) return parseReais(value)
  const cents = parseReais(typeof value === "string" ? value.slice(1) : -(value as number))
  return cents === undefined ? undefined : 0 - cents
}

export const oneOf = <S extends string>(...states: ReadonlyArray<S>): Read<S> => {
  const known: ReadonlyArray<unknown> = states
  return (value) => (known.includes(value) ? (value as S) : undefined)
}

const count: Read<number> = (value) => {
  if (typeof value === "string") return /^\d{1,15}$/.test(value) ? Number(value) : undefined
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** Text of at most so many characters. What remains of longer text is its beginning. */
export const text =
  (longest: number): Read<string> =>
  (value) => {
    if (typeof value !== "string") return undefined
    // A character has at most two code units.
    const bare = value
      .slice(0, 4 * longest)
      .replaceAll(UNPRINTABLE, "")
      .trim()
    const cut = [...bare].slice(0, longest).join("")
    return cut === "" ? undefined : cut
  }

/** Control characters and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu

export const name = text(200)
export const reason = text(300)

/** An instant; undefined where it cannot be read, and before there was Pix: a calendar's first day stands for none. */
export const instant = (value: unknown, { zone }: Reading): number | undefined => {
  const ms = typeof value === "string" ? parseInstant(value, zone) : undefined
  return ms === undefined || ms < PIX_BEGAN_MS ? undefined : Math.floor(ms)
}

/** The instant of what has happened, or that of seeing. Clocks differ by less than a day. */
export const instantOrNow = (value: unknown, reading: Reading): number => {
  const ms = instant(value, reading)
  return ms === undefined || ms > reading.nowMs + DAY_MS ? reading.nowMs : ms
}

const PIX_BEGAN_MS = Date.UTC(2020, 10, 1)
const DAY_MS = 86_400_000

const DOCUMENT = /^(\d{11}|[0-9A-Z]{12}\d{2})$/

/** CPF or CNPJ; undefined where it is masked. */
const document: Read<string> = (value) =>
  typeof value === "string" ? matching(DOCUMENT)(value.slice(0, 40).replaceAll(/[./-]/g, "")) : undefined

export interface Payer {
  readonly name: string | undefined
  readonly document: string | undefined
}

/** The payer of a Pix where the provider names it: in `pagador`, or in Efí's `gnExtras.pagador`. */
export const payerOf = (message: unknown): Payer | undefined => {
  for (const path of ["pagador", "gnExtras.pagador"]) {
    const payer = {
      name: name(field(message, `${path}.nome`)),
      document: document(field(message, `${path}.cpf`)) ?? document(field(message, `${path}.cnpj`))
    }
    if (payer.name !== undefined || payer.document !== undefined) return payer
  }
  return undefined
}

/** The entry that has others, and its field that has them. */
interface Within {
  readonly message: unknown
  readonly path: string
}

/** The entries that can be read. The others are set apart. */
export const entriesOf = <A>(
  entries: ReadonlyArray<unknown>,
  decode: Decode<A>,
  reading: Reading,
  within?: Within
): ReadonlyArray<A> =>
  entries.flatMap((entry) =>
    Result.match(decode(entry, reading), {
      onSuccess: (item) => [item],
      onFailure: (why) => {
        setApart(entry, why, reading, within)
        return []
      }
    })
  )

/** The entries that a message has in a field: a list, or one alone. */
export const nested = <A>(message: unknown, path: string, decode: Decode<A>, reading: Reading): ReadonlyArray<A> => {
  const value = field(message, path)
  if (isAbsent(value)) return []
  const entries = Array.isArray(value) ? value : [value]
  if (entries.length <= MOST_NESTED) return entriesOf(entries, decode, reading, { message, path })
  setApart(entries, `${path} has more than ${MOST_NESTED} entries`, reading, { message, path })
  return []
}

/** A page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** The entries that cannot be read, those that other entries have among them. */
  readonly unreadable: ReadonlyArray<Unreadable>
  /** Undefined where it, or how many pages there are, cannot be read: then there may be more. */
  readonly page: number | undefined
  /** 0 where that cannot be read. */
  readonly pages: number
  /** Of the entries of all pages; 0 where it does not say. */
  readonly total: number
}

/** A page whose entries are in the field `list`, or one alone. Without entries it must say that it is one, and has none. */
export const pageOf =
  <A>(list: string, decode: Decode<A>): Decode<Page<A>> =>
  (message, reading) =>
    Result.gen(function* () {
      const pages = count(field(message, "parametros.paginacao.quantidadeDePaginas"))
      const page = pages === undefined ? undefined : count(field(message, "parametros.paginacao.paginaAtual"))
      const total = count(field(message, "parametros.paginacao.quantidadeTotalDeItens")) ?? 0
      const value = field(message, list)
      const isEmpty = isAbsent(value) && total === 0 && page !== undefined
      const entries: unknown = isEmpty ? [] : isRecord(value) ? [value] : value
      if (!Array.isArray(entries)) return yield* Result.fail(`${list} is no list`)
      if (entries.length > MOST_ENTRIES) return yield* Result.fail(`${list} has more than ${MOST_ENTRIES} entries`)
      return {
        items: entriesOf(entries, decode, reading),
        unreadable: reading.unreadable,
        page,
        pages: pages ?? 0,
        total
      }
    })

/** The central bank's document allows 1,000 on a page. */
const MOST_ENTRIES = 10_000
const MOST_NESTED = 1000
const MOST_SET_APART = 10_000
const LONGEST_UNREADABLE_BYTES = 4096

const setApart = (entry: unknown, why: string, reading: Reading, within?: Within): void => {
  if (reading.unreadable.length >= MOST_SET_APART) return
  const of = within === undefined ? entry : within.message
  const endToEndId = id(field(of, "endToEndId"))
  const json = JSON.stringify(
    within === undefined ? entry : { endToEndId: endToEndId ?? id(field(of, "e2eId")), [within.path]: entry }
  )
  const { read } = new TextEncoder().encodeInto(json, new Uint8Array(LONGEST_UNREADABLE_BYTES))
  reading.unreadable.push({
    text: json.slice(0, read),
    reason: why,
    name: nameOf(
      within === undefined ? [endToEndId] : [endToEndId, id(field(entry, "rtrId")) ?? id(field(entry, "id"))],
      why
    ),
    endToEndId,
    marks: { txid: id(field(of, "txid")), endToEndId, key: pixKey(field(of, "chave")) }
  })
}

const nameOf = (ids: ReadonlyArray<string | undefined>, why: string): string | undefined =>
  ids.includes(undefined) ? undefined : [...ids, why].join("/")

type Entry = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value)
