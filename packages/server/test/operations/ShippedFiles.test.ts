/** The files of `deploy/`: their programs and settings are those of the service, and systemd accepts its units. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { secretVariables } from "../../src/base/Environment.ts"

const root = join(import.meta.dirname, "../../../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

const units = readdirSync(join(root, "deploy/systemd"))
const shipped = [
  ...units.map((name) => `deploy/systemd/${name}`),
  "deploy/kubernetes/pix-payments.yaml",
  "compose.yaml"
]

const settings = new Set([
  ...[...read("packages/server/src/base/Settings.ts").matchAll(/"([A-Z][A-Z0-9_]{3,})"/g)].map(([, name]) => name!),
  ...secretVariables.map((name) => `${name}_FILE`),
  // Of Node, of `pix` and of PostgreSQL's image.
  "NODE_ENV",
  "NODE_COMPILE_CACHE",
  "OPERATOR_URL",
  "POSTGRES_USER",
  "POSTGRES_DB",
  "POSTGRES_PASSWORD_FILE"
])

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => found!)

describe.each(shipped)("%s", (path) => {
  it("sets what is a setting, and runs programs that are built", () => {
    const text = read(path)
    const set = [
      ...all(text, /^Environment=(.*)$/gm).flatMap((line) => all(line, /(?:^| )([A-Z][A-Z0-9_]+)=/g)),
      ...all(text, /- \{ name: ([A-Z][A-Z0-9_]+), value/g),
      ...all(text, /^ {6}([A-Z][A-Z0-9_]+): /gm)
    ]
    assert.deepStrictEqual(
      set.filter((name) => !settings.has(name)),
      []
    )
    const programs = all(text, /packages\/server\/dist\/(\w+)\.js/g)
    const build = read("packages/server/build.mjs")
    for (const program of programs) assert.include(build, `"${program}"`)
  })

  it("tells a start all that it must be told", () => {
    const text = read(path)
    if (!/dist\/main\.js|name: server$/m.test(text) && path !== "compose.yaml") return
    for (const name of ["DATABASE_URL_FILE", "OPERATOR_TOKEN_FILE", "SECRETS_KEYS_FILE"]) assert.include(text, name)
    assert.match(text, /ACQUIRER|EnvironmentFile/)
  })
})

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0

describe("deploy/systemd", () => {
  it.skipIf(!hasSystemd)("systemd accepts the units, and the server is sandboxed", () => {
    const folder = mkdtempSync(join(tmpdir(), "pix-units-"))
    try {
      const paths = units.map((name) => {
        const path = join(folder, name)
        // The programs need not be installed here.
        writeFileSync(path, read(`deploy/systemd/${name}`).replaceAll(/\/usr\/bin\/(?:node|pix)/g, process.execPath))
        return path
      })
      const verified = spawnSync("systemd-analyze", ["verify", ...paths], { encoding: "utf8" })
      assert.deepStrictEqual([verified.status, verified.stderr], [0, ""])
      const server = join(folder, "pix-payments.service")
      const security = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=25", server])
      assert.strictEqual(security.status, 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
