import { assert, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { send } from "./support/Caller.ts"

it("starts by itself, says how to call it, and does what is typed", async () => {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))
  const child = spawn(process.execPath, [main, "efi", "--seed", "7"], { stdio: ["pipe", "pipe", "inherit"] })
  let output = ""
  child.stdout.setEncoding("utf8")
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(output)
        if (found !== null) resolve(found)
      }
      child.stdout.on("data", look)
      child.once("exit", () => reject(new Error(`it ended: ${output}`)))
      look()
    })
  child.stdout.on("data", (part: string) => (output += part))
  try {
    const [, origin] = await until(/listens on (\S+)\. /)
    const [, folder] = await until(/certificates\s+(\S+) /)
    const file = (name: string) => readFileSync(join(folder!, name))
    const tls = { ca: file("ca.pem"), pfx: file("client.p12"), passphrase: "psp-double" }
    assert.strictEqual((await send(`${origin}/oauth/token`, "POST", tls)).status, 400)
    child.stdin.write("receive 500\nstate\n")
    await until(/"balance": 100500/)
    rmSync(folder!, { recursive: true })
  } finally {
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill()
    await ended
  }
})
