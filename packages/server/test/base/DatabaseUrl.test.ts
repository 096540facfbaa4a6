/** URLs of PostgreSQL: what the driver would ignore or misread is refused, and no message shows a password. */
import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { parseDatabaseUrl, unprotectedHost } from "../../src/base/DatabaseUrl.ts"

const parsed = (text: string) => parseDatabaseUrl(Redacted.make(text))

describe("The URL of a database", () => {
  it.each([
    "postgresql://u:p@h:5432/db",
    "postgres://h",
    "postgresql:///db?host=/run/postgresql&port=5433&user=u",
    "postgresql://u:a%2Cb@h/db?sslmode=verify-full&connect_timeout=3&application_name=x",
    "postgresql://u:a,b@h/db?options=-c%20work_mem%3D8MB",
    "postgresql://[::1]:5432/db"
  ])("%s is taken", (text) => {
    assert.isTrue(Result.isSuccess(parsed(text)))
  })

  it.each([
    ["postgresql://u:p@db.internal/db", "db.internal"],
    ["postgresql://u:p@10.0.0.1/db?sslmode=prefer", "10.0.0.1"],
    ["postgresql://u:p@[fd00::1]/db?sslmode=disable", "fd00::1"],
    ["postgresql:///db?host=db.internal", "db.internal"],
    ["postgresql://u:p@db.internal/db?sslmode=require", undefined],
    ["postgresql://u:p@db.internal/db?sslmode=verify-full", undefined],
    ["postgresql:///db?host=/run/postgresql", undefined],
    ["postgresql://localhost/db", undefined],
    ["postgresql://127.0.0.2/db", undefined],
    ["postgresql://[::1]:5432/db", undefined]
  ])("OPR-336: %s may be read on its way to %s", (url, host) => {
    assert.strictEqual(unprotectedHost(Redacted.make(url)), host)
  })

  it.each([
    ["mysql://h/db", /begins with postgresql:\/\//],
    ["h/db", /begins with postgresql:\/\//],
    ["postgresql://u:secret@a:1,b:2/db", /several hosts/],
    ["postgresql://u:secret@a,b/db", /several hosts/],
    ["postgresql://u:secret@a%2Cb/db", /several hosts/],
    ["postgresql://u:secret@h/db?host=a,b", /several hosts/],
    ["postgresql://u:secret@h/db?host=a&host=b", /several hosts/],
    ["postgresql://u:secret@h/db?port=1,2", /several hosts/],
    ["postgresql://u:secret@h/db?sslmode=require&sslmode=disable", /given twice: sslmode\. .*one/],
    ["postgresql://u:secret@h/db?port=1&port=1&password=secret&password=secret", /given twice: port, password\./],
    ["postgresql://u:secret@h:port/db", /not a valid URL.*percent-encoded/],
    ["postgresql://u:p#secret@h/db", /%23|percent-encoded/],
    ["postgresql://u:secret@h/db?sslrootcert=x", /not understood: sslrootcert. .*NODE_EXTRA_CA_CERTS/],
    ["postgresql://u:secret@h/db?schema=x&SSLMODE=require", /not understood: schema, SSLMODE. .*ALTER ROLE/],
    ["postgresql://u:secret@h/db?target_session_attrs=primary", /not understood: target_session_attrs. .*primary/]
  ] as const)("%s is refused with what to do", (text, expected) => {
    const result = parsed(text)
    if (Result.isSuccess(result)) return assert.fail("it was taken")
    assert.match(result.failure, expected)
    assert.notInclude(result.failure, "secret")
  })
})
