/** The guides of `docs/guides`: their code runs by the packed client against the service, and both languages have the same. */
import { assert, layer } from "@effect/vitest"
import { install, pack } from "@pix-payments/client/test/Tarball"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { paidCharge } from "@pix-payments/server/test/Money"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

interface Code {
  readonly language: string
  readonly text: string
  /** The heading above it. */
  readonly guide: string
}

const textOf = (language: string): string =>
  readFileSync(join(import.meta.dirname, `../../docs/guides/${language}.md`), "utf8")

const codeOf = (text: string): ReadonlyArray<Code> =>
  text.split(/^## /m).flatMap((part) =>
    [...part.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => ({
      language,
      text: code,
      guide: part.split("\n")[0] ?? ""
    }))
  )

const code = codeOf(textOf("en"))

/** An empty folder with the packed client. */
const emptyFolder = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  return (yield* Effect.promise(async () => install(join(folder, "shop"), await pack(folder), {}))).folder
})

/** Runs a piece as a program of its own, as a reader does. A server that it starts ends with it. */
const run = ({ language, text }: Code, cwd: string, env: Readonly<Record<string, string>>) =>
  Effect.callback<string>((resume) => {
    const [file, args] =
      language === "sh"
        ? (["sh", ["-ec", text]] as const)
        : ([process.execPath, ["--input-type=module-typescript", "-e", `${text}\nprocess.exit()`]] as const)
    const options = { cwd, env: { ...process.env, ...env }, timeout: 120_000 }
    execFile(file, args, options, (error, stdout, stderr) =>
      resume(error === null ? Effect.succeed(stdout) : Effect.die(new Error(`${text}\n${stdout}\n${stderr}`)))
    )
  })

/** What a reader sees, in the order of the pieces. */
const printed = [
  /"status":"pending"/,
  /^0002.* [0-9a-f]{32}/,
  /^[0-9a-f-]{36}/,
  /^$/,
  /^$/,
  /^(completed|pending)/,
  /^$/,
  /received: 250000,[^]*available: 200000/,
  /^E\d{20}\w+\nrefused, see [0-9a-f-]{36}/
]

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Guides", (it) => {
  it.effect("the code of each guide runs as it stands", () =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      yield* paidCharge(key, 250_000)
      assert.strictEqual(code.length, printed.length)
      const folder = yield* emptyFolder
      for (const [index, piece] of code.entries()) {
        const output = yield* run(piece, folder, { PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key, PORT: "0" })
        assert.match(output.trim(), printed[index]!, `${piece.guide}: ${output}`)
      }
    })
  )

  it("both languages have the same guides, code and rules", () => {
    const [en, pt] = ["en", "pt"].map(textOf)
    const rules = (text = "") => [...text.matchAll(/\[[A-Z]+-\d+\]\(/g)].map(([rule]) => rule)
    assert.deepStrictEqual(
      codeOf(pt!).map(({ text }) => text),
      code.map(({ text }) => text)
    )
    assert.deepStrictEqual(rules(pt), rules(en))
    assert.isAbove(rules(en).length, 10)
    assert.strictEqual(pt!.match(/^## /gm)?.length, en!.match(/^## /gm)?.length)
    assert.strictEqual(en!.match(/^## /gm)?.length, 8)
  })
})
