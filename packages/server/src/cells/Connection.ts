/**
 * A connection of the owner of a database, for what a program moves between two of them: statements, and streams of rows.
 *
 * Guarantee: a connection ends with its scope, at once, and what it had not committed or prepared is undone.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { hash } from "node:crypto"
import { Client, type QueryResultRow } from "pg"
import { from, to } from "pg-copy-streams"

/** What a database or a connection to it says. */
export class StatementFailed extends Data.TaggedError("StatementFailed")<{ readonly message: string }> {}

export type Connection = Client

/** Opens a connection. Its name is in messages. */
export const connect = (url: string, name: string) =>
  Effect.acquireRelease(
    attempt(name, async () => {
      const client = new Client({ connectionString: url, application_name: "move", connectionTimeoutMillis: 10_000 })
      // The statement that runs fails; nobody waits for more.
      client.on("error", () => {})
      await client.connect()
      // The ids of a million charges are hashed in memory, and not looked through for each row.
      await client.query("SET work_mem = '256MB'")
      return client
    }),
    (client) => Effect.promise(() => client.end().catch(() => {}))
  )

/** The rows of a statement. */
export const query = <Row extends QueryResultRow>(
  client: Connection,
  text: string,
  values: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<Row>, StatementFailed> =>
  Effect.map(
    attempt(text, () => client.query<Row>(text, [...values])),
    ({ rows }) => rows
  )

/** The rows of a statement as PostgreSQL writes their values. */
export const textsOf = (client: Connection, text: string): Effect.Effect<ReadonlyArray<Texts>, StatementFailed> =>
  Effect.map(
    attempt(text, () =>
      client.query<Array<string | null>>({
        text,
        rowMode: "array",
        types: { getTypeParser: () => (value: string | null) => value }
      })
    ),
    ({ rows }) => rows
  )

export type Texts = ReadonlyArray<string | null>

/** Of rows, in whatever order they came. Equal rows have equal ones. */
export interface Digest {
  rows: number
  readonly sums: [number, number, number, number]
}

export const emptyDigest = (): Digest => ({ rows: 0, sums: [0, 0, 0, 0] })

/** Sends the rows of a query from one database into a table of another, and adds them to a digest. `into`: the table and its columns. */
export const copyRows = (source: Connection, rows: string, target: Connection, into: string, digest: Digest) =>
  attempt(into, () =>
    pipeline(
      source.query(to(`COPY (${rows}) TO STDOUT`)),
      addingTo(digest),
      target.query(from(`COPY ${into} FROM STDIN`))
    )
  )

/** Adds the rows of a query to a digest. */
export const readRows = (client: Connection, rows: string, digest: Digest) =>
  attempt(rows, () => pipeline(client.query(to(`COPY (${rows}) TO STDOUT`)), addingTo(digest).resume()))

/** Passes lines on. A line is a row, and has no line break inside: COPY writes that as \n. */
const addingTo = (digest: Digest) => {
  let rest: Buffer = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        const line = chunk.subarray(start, end)
        const bytes = hash("sha256", rest.length === 0 ? line : Buffer.concat([rest, line]), "buffer")
        rest = Buffer.alloc(0)
        digest.rows += 1
        digest.sums.forEach((sum, at) => (digest.sums[at] = (sum + bytes.readUInt32LE(at * 4)) >>> 0))
        start = end + 1
      }
      rest = Buffer.concat([rest, chunk.subarray(start)])
      done(null, chunk)
    }
  })
}

const attempt = <A>(of: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new StatementFailed({ message: `${cause instanceof Error ? cause.message : String(cause)} (${of})` })
  })
