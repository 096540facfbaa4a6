/** The files of `deploy/patroni`: their ports and settings agree with each other and with the document, and their programs accept them. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const patroni = read("deploy/patroni/patroni.yml")
const haproxy = read("deploy/patroni/haproxy.cfg")
const etcd = read("deploy/patroni/etcd.env")
const passwords = read("deploy/patroni/patroni.env.example")
const page = read("docs/operations/failover.md")

const machines = ["db-1", "db-2", "db-3"]
const setting = (name: string) => new RegExp(`^ +${name}: (\\S+)`, "m").exec(patroni)?.[1]

const environment = {
  ...process.env,
  PATH: `${process.env["PATH"]}:/usr/sbin`,
  ...Object.fromEntries([...passwords.matchAll(/^(PATRONI_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
}
const run = (program: string, ...args: ReadonlyArray<string>) =>
  spawnSync(program, args, { encoding: "utf8", env: environment })
const isInstalled = (program: string, flag: string) => run(program, flag).status === 0

describe("deploy/patroni", () => {
  it("has the same machines and ports in each file", () => {
    assert.include(patroni, `hosts: [${machines.map((name) => `${name}:2379`).join(", ")}]`)
    assert.include(etcd, `ETCD_INITIAL_CLUSTER=${machines.map((name) => `${name}=http://${name}:2380`).join(",")}`)
    assert.match(etcd, /^ETCD_LISTEN_CLIENT_URLS=.*:2379$/m)
    assert.deepStrictEqual(
      [...haproxy.matchAll(/^ {2}server (\S+) (\S+)$/gm)].map(([, name, address]) => [name, address]),
      machines.map((name) => [name, `${name}:5432`])
    )
    const port = /check port (\d+)/.exec(haproxy)?.[1]
    assert.match(patroni, new RegExp(`^  connect_address: db-1:${port} `, "m"))
    assert.match(patroni, /^ {2}connect_address: db-1:5432 /m)
    assert.lengthOf([...patroni.matchAll(/db-1\S* # this machine$/gm)], 4)
  })

  it("has the settings that the document names, and times that Patroni accepts", () => {
    for (const name of [
      "ttl",
      "loop_wait",
      "retry_timeout",
      "synchronous_mode",
      "synchronous_mode_strict",
      "failsafe_mode"
    ]) {
      assert.include(page, `\`${name}: ${setting(name)}\``)
    }
    const [ttl, loopWait, retryTimeout] = ["ttl", "loop_wait", "retry_timeout"].map((name) => Number(setting(name)))
    assert.isAtMost(loopWait! + 2 * retryTimeout!, ttl!)
    for (const line of [
      "option httpchk OPTIONS /primary",
      "inter 1s fall 2 rise 1",
      "on-marked-down shutdown-sessions"
    ]) {
      assert.include(haproxy, line)
      assert.include(page, `\`${line}\``)
    }
  })

  it.skipIf(!isInstalled("haproxy", "-v"))("HAProxy accepts its file", () => {
    inFolder("haproxy.cfg", haproxy.replaceAll(/db-(\d):/g, "127.0.0.1$1:"), (path) => {
      const parsed = run("haproxy", "-c", "-f", path)
      assert.strictEqual(parsed.status, 0, parsed.stderr)
      assert.notInclude(parsed.stderr, "WARNING")
    })
  })

  it.skipIf(!isInstalled("patroni", "--version"))(
    "Patroni accepts its file, but for what is not on this machine",
    () => {
      inFolder("patroni.yml", patroni, (path) => {
        const { stderr, stdout } = run("patroni", "--validate-config", path)
        const complaints = `${stdout}${stderr}`.split("\n").filter((line) => line !== "")
        const ofThisMachine =
          /^etcd3\.hosts|^restapi\.listen db-1|^postgresql\.listen .*in use|^postgresql\.(bin_dir|data_dir)/
        assert.deepStrictEqual(
          complaints.filter((line) => !ofThisMachine.test(line)),
          []
        )
        assert.isNotEmpty(complaints, "it was read")
      })
    }
  )
})

const inFolder = (name: string, text: string, use: (path: string) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), "pix-patroni-"))
  try {
    const path = join(folder, name)
    writeFileSync(path, text)
    use(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
