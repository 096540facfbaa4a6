/** A PostgreSQL that speaks TLS with a certificate of an authority of one's own, as docs/operations/settings.md describes it. */
import { assert, layer } from "@effect/vitest"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { makeAuthority } from "@pix-payments/psp-double/Certificates"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Fs from "node:fs/promises"
import { join } from "node:path"
import { onServer, temporaryFolder } from "../support/Postgres.ts"
import { ran, startProcess } from "../support/Process.ts"
import { newKey } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("TLS to PostgreSQL", (it) => {
  it.effect("OPR-336: with sslmode=require and NODE_EXTRA_CA_CERTS every connection is encrypted, and checked", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      const authority = yield* Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.promise(() => makeAuthority("Own authority", nowMs))
      )
      const { ca, cert, key } = yield* Effect.promise(() => authority.issue({ name: "localhost", usage: "server" }))
      const at = (name: string) => join(dataDir, name)
      // Its first start makes the cluster, and the user that the files belong to.
      yield* Effect.scoped(EmbeddedPostgres.start({ dataDir }))
      yield* Effect.promise(async () => {
        await Fs.writeFile(at("ca.pem"), ca)
        await Fs.writeFile(at("server.crt"), cert)
        await Fs.writeFile(at("server.key"), key, { mode: 0o600 })
        const { gid, uid } = await Fs.stat(at("postgres"))
        for (const name of ["server.crt", "server.key"]) await Fs.chown(at(name), uid, gid)
      })
      const server = yield* EmbeddedPostgres.start({
        dataDir,
        database: "payments",
        settings: { ssl: "on", ssl_cert_file: at("server.crt"), ssl_key_file: at("server.key") }
      })
      const url = new URL(Redacted.value(server.url))
      url.hostname = "localhost"
      url.searchParams.set("sslmode", "require")
      const own = {
        DATABASE_URL: url.href,
        MIGRATIONS_DATABASE_URL: url.href,
        OPERATOR_TOKEN: newKey(),
        SECRETS_KEYS: Buffer.alloc(32, 7).toString("base64")
      }
      const unknown = yield* ran("migrate", own)
      assert.strictEqual(unknown.code, 1)
      assert.match(unknown.written, /certificate/i)
      const env = { ...own, NODE_EXTRA_CA_CERTS: at("ca.pem") }
      const migrated = yield* ran("migrate", env, "--wait", "10")
      assert.strictEqual(migrated.code, 0, migrated.written)
      const { written } = yield* startProcess(env)
      assert.notInclude(written(), "not encrypted")
      const connections = yield* onServer(
        `SELECT count(*)::int, count(*) FILTER (WHERE s.ssl)::int FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)
          WHERE a.application_name LIKE 'pix-payments%'`,
        server.url
      )
      const [all, encrypted] = connections[0] as unknown as readonly [number, number]
      assert.isAbove(all, 0)
      assert.strictEqual(encrypted, all)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-336: migrate ends after --wait where PostgreSQL is away", () =>
    Effect.gen(function* () {
      const url = "postgresql://u:p@127.0.0.1:9/payments"
      const env = { DATABASE_URL: url, MIGRATIONS_DATABASE_URL: url }
      const away = yield* ran("migrate", env, "--wait", "0")
      assert.strictEqual(away.code, 1)
      assert.match(away.written, /PostgreSQL of DATABASE_URL is away for 0 s/)
      for (const wrong of [["--wait", "soon"], ["--wait", "-1"], ["now"]]) {
        const refused = yield* ran("migrate", env, ...wrong)
        assert.deepStrictEqual([refused.code, refused.written.startsWith("Nothing was done.")], [1, true])
      }
    })
  )
})
