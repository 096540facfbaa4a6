/** `deploy/cells` for Envoy: the cell that its Lua finds, where LuaJIT is installed, and the file itself, where Envoy is. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { hash, randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../../../deploy/cells")
const read = (name: string) => readFileSync(join(folder, name), "utf8")
const run = (program: string, ...args: ReadonlyArray<string>) => spawnSync(program, args, { encoding: "utf8" })

/** A temporary folder in which the files are those of `/etc/envoy`. */
const installed = (maps: Readonly<Record<"keys" | "connections", string>>) => {
  const etc = mkdtempSync(join(tmpdir(), "pix-envoy-"))
  for (const [name, text] of Object.entries(maps)) writeFileSync(join(etc, `${name}.map`), text)
  for (const name of ["envoy.yaml", "cells.lua"]) {
    writeFileSync(join(etc, name), read(name).replaceAll("/etc/envoy", etc))
  }
  return { etc, [Symbol.dispose]: () => rmSync(etc, { recursive: true }) }
}

describe("deploy/cells/envoy.yaml", () => {
  it("has the servers and ports of haproxy.cfg", () => {
    const servers = [...read("haproxy.cfg").matchAll(/^ {2}server \S+ (\S+):(\d+) port (\d+)$/gm)].map((each) =>
      each.slice(1).join(" ")
    )
    const endpoints = read("envoy.yaml").matchAll(
      /address: (\S+), port_value: (\d+) \} \}\n\s+health_check_config: \{ port_value: (\d+) \}/g
    )
    assert.lengthOf(servers, 8)
    assert.deepStrictEqual(
      [...endpoints].map((each) => each.slice(1).join(" ")),
      servers
    )
  })

  it.skipIf(run("envoy", "--version").status !== 0)("is accepted by Envoy", () => {
    using files = installed({ keys: "", connections: "" })
    const { status, stderr } = run("envoy", "--mode", "validate", "-c", join(files.etc, "envoy.yaml"))
    assert.strictEqual(status, 0, stderr)
  })
})

describe.skipIf(run("luajit", "-v").status !== 0)("deploy/cells/cells.lua", () => {
  const connection = "0199a1fd-37d2-7a1e-8451-d23f26a87900"
  const moved = "pix_a.moved"
  const keys = [
    moved,
    // As long as two blocks of the digest, and shorter.
    ...Array.from({ length: 130 }, (_, length) => "k".repeat(length)),
    randomBytes(40).toString("base64url")
  ]
  const maps = { keys: keys.map((key) => `${hash("sha256", key)} b\n`).join(""), connections: `${connection} b\n` }

  it("finds the cell as haproxy.cfg does", () => {
    using files = installed(maps)
    /** Of requests whose callers name a cell themselves. */
    const cellsOf = (asked: ReadonlyArray<readonly [path: string, key?: string]>) => {
      const calls = asked.map(
        ([path, key]) => `
          headers = { [":path"] = "${path}", ["x-cell"] = "a", ["x-api-key"] = ${key === undefined ? "nil" : `"${key}"`},
            get = function(self, name) return self[name] end,
            remove = function(self, name) self[name] = nil end,
            add = function(self, name, value) self[name] = value end }
          envoy_on_request({ headers = function() return headers end })
          print(headers["x-cell"])`
      )
      writeFileSync(join(files.etc, "asked.lua"), `dofile("${files.etc}/cells.lua")\n${calls.join("\n")}`)
      const { status, stderr, stdout } = run("luajit", join(files.etc, "asked.lua"))
      assert.strictEqual(status, 0, stderr)
      return stdout.trim().split("\n")
    }
    assert.deepStrictEqual(
      new Set(cellsOf(keys.map((key) => ["/v1/charges", key]))),
      new Set(["b"]),
      "each key is in the map by its digest"
    )
    assert.deepStrictEqual(
      cellsOf([
        ["/v1/charges", moved],
        ["/v1/charges", "pix_a.unknown"],
        ["/v1/charges", "unknown"],
        ["/v1/charges", "k".repeat(60_000)],
        ["/v1/charges"],
        [`/${connection}/secret`],
        [`/webhooks/${connection}/secret?a=1`],
        ["/webhooks/0199/secret", moved]
      ]),
      ["b", "a", "nil", "nil", "nil", "b", "b", "nil"]
    )
  })
})
