/** The help of every command, and its examples, in this process. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Completions from "effect/cli/Completions"
import type * as HelpDoc from "effect/cli/HelpDoc"
import { operations } from "../src/resources/Operations.ts"
import { root } from "../src/Root.ts"
import { commands } from "./support/Commands.ts"

const run = (args: ReadonlyArray<string>, present: CliOutput.Presenter["present"] = () => Effect.void) =>
  Command.runWith(root, { version: "0" })(args).pipe(
    Effect.provide([NodeServices.layer, CliOutput.layerPresenter({ present })])
  )

const helpOf = Effect.fnUntraced(function* (path: ReadonlyArray<string>) {
  const shown: Array<HelpDoc.HelpDoc> = []
  yield* run([...path, "--help"], (event) =>
    Effect.sync(() => void (event._tag === "Help" && shown.push(event.helpDoc)))
  )
  assert.lengthOf(shown, 1, path.join(" "))
  return shown[0]!
})

/** The arguments of a command line, without redirections. */
const argumentsOf = (line: string): ReadonlyArray<string> =>
  Array.from(line.replace(/ [<>].*/, "").matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain!)

describe("help", () => {
  it.effect("CLI-9: each command has a description, and an example that begins with it", () =>
    Effect.gen(function* () {
      assert.isAbove(commands.length, 90)
      for (const path of commands) {
        const { description, examples = [] } = yield* helpOf(path)
        assert.isNotEmpty(description, path.join(" "))
        assert.isNotEmpty(examples, path.join(" "))
        for (const { command } of examples) assert.isTrue(command.startsWith(["pix", ...path].join(" ")), command)
      }
    })
  )

  it.effect("CLI-9: each example is a command that is understood", () =>
    Effect.gen(function* () {
      process.env["XDG_CONFIG_HOME"] = "/nonexistent"
      for (const { name, resource } of operations) {
        const { examples = [] } = yield* helpOf([resource, name])
        for (const { command } of examples) {
          const failure = yield* Effect.flip(run(argumentsOf(command).slice(1)))
          // The first thing that a command does with its arguments.
          assert.include(String(failure.message), "Not signed in", command)
        }
      }
    }).pipe(Effect.ensuring(Effect.sync(() => delete process.env["XDG_CONFIG_HOME"])))
  )
})

describe("commands", () => {
  it("CLI-16: there is one for each operation, but for signing in and the stream", () => {
    const declared = Object.values(OperatorApi.groups).flatMap((group) =>
      Object.keys(group.endpoints).map((name) => `${group.identifier}.${name}`)
    )
    const ids = new Set(operations.map(({ id }) => id))
    assert.deepStrictEqual(
      declared.filter((id) => !ids.has(id) && !id.startsWith("signIn.")),
      [
        "session.end",
        "session.code",
        "bankStatements.import",
        "events.stream",
        "events.list",
        "accountBooks.closes",
        "accountBooks.statement",
        "connectionBooks.closes",
        "connectionBooks.statement",
        "closes.overdue",
        "closes.package"
      ]
    )
    const names = operations.map(({ name, resource }) => `${resource} ${name}`)
    assert.strictEqual(new Set(names).size, names.length)
    const resources =
      "charges payouts disputes exceptions deliveries accounts applications keys connections operators audit"
    assert.includeMembers(
      names,
      resources.split(" ").flatMap((resource) => [`${resource} list`, `${resource} get`])
    )
    assert.includeMembers(names, [
      "charges refund",
      "payouts create",
      "keys create",
      "connections check",
      "simulator charge-pay"
    ])
  })

  it("CLI-6: no flag and no argument takes a secret", () => {
    const named = ({
      arguments: positional,
      flags,
      subcommands
    }: Completions.CommandDescriptor): ReadonlyArray<string> => [
      ...[...flags, ...positional].map(({ name }) => name),
      ...subcommands.flatMap(named)
    ]
    const names = [...new Set(named(Completions.fromCommand(root)))]
    assert.isAbove(names.length, 60)
    // A file, an id and a wish.
    assert.sameMembers(
      names.filter((name) => /secret|token|credential|password|private/.test(name)),
      ["token-file", "token-id", "settings-token-url", "print-secret"]
    )
    // The URL of Slack is a secret (OPR-315); the target of a move is a cell.
    const withTarget = operations.filter(({ body = [] }) => body.some(({ name }) => name === "target"))
    assert.deepStrictEqual(
      withTarget.map(({ id }) => id),
      ["accounts.move"]
    )
  })
})
