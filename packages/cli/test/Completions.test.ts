/**
 * What bash, zsh and fish offer with the scripts of `pix completions`, against the tree of commands.
 *
 * A shell that is not installed is reported, and its test is skipped.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Completions from "effect/cli/Completions"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { scriptFor } from "../src/Completions.ts"
import { root } from "../src/Root.ts"

const isInstalled = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)))

/** Every command with the words before it. */
const withWords = (
  command: Completions.CommandDescriptor,
  before: ReadonlyArray<string> = []
): ReadonlyArray<{ readonly words: string; readonly command: Completions.CommandDescriptor }> => {
  const here = [...before, command.name]
  return [{ words: here.join(" "), command }, ...command.subcommands.flatMap((each) => withWords(each, here))]
}

const all = withWords(Completions.fromCommand(root))

/** What is typed, and the words that continue it. */
const expected: ReadonlyArray<readonly [typed: string, offered: ReadonlyArray<string>]> = all.flatMap(
  ({ command: { flags, subcommands }, words }) => [
    ...(subcommands.length === 0 ? [] : [[`${words} `, subcommands.map(({ name }) => name)] as const]),
    ...(flags.length === 0 ? [] : [[`${words} --`, flags.map(({ name }) => `--${name}`)] as const])
  ]
)

/** Text of a script: one word. */
const quoted = (text: string): string => `'${text}'`

const drivers = {
  /** The function of the script gets the words as bash gives them. */
  bash: (script: string) => [
    `source ${script}`,
    "offers() {",
    '  COMP_LINE="$1"; COMP_POINT=${#1}; read -ra COMP_WORDS <<< "$1"; [[ "$1" == *" " ]] && COMP_WORDS+=("")',
    "  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()",
    "  _pix",
    '  printf "%s\\n" "${COMPREPLY[@]}"; echo END',
    "}"
  ],
  fish: (script: string) => [`source ${script}`, "function offers; complete -C $argv[1]; echo END; end"],
  /** A terminal of zsh, in which what a completion adds is printed instead. */
  zsh: (script: string) => [
    "zmodload zsh/zpty",
    "zpty shell zsh -f -i",
    'zpty -w shell "module_path=($module_path); fpath=($fpath)"',
    `zpty -w shell 'PROMPT=; autoload -Uz compinit; compinit -u -D; source ${script}; compdef _pix pix
      bindkey "^I" complete-word; bindkey "^J" ended; ended() { zle kill-buffer; print -r -- "<END>" }; zle -N ended
      compadd() {
        [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd "$@"; return }
        typeset -a hits; builtin compadd -A hits "$@"; print -r -l -- "HIT:"\${^hits}
      }
      print READY'`.replaceAll("\\$", "$"),
    "zpty -r shell out '*READY*READY*'",
    "offers() {",
    "  zpty -n -w shell \"$1\"$'\\t\\n'; zpty -r shell out '*<END>*'",
    "  print -r -- $out | grep -ao 'HIT:[^[:cntrl:]]*' | cut -c5-; print END",
    "}"
  ]
}

/** What a shell offers for each text. */
const offered = async (shell: keyof typeof drivers): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const folder = await mkdtemp(join(tmpdir(), "pix-completions-"))
  try {
    const script = join(folder, "script")
    const driver = join(folder, "driver")
    await writeFile(script, scriptFor(shell, root))
    await writeFile(
      driver,
      [...drivers[shell](script), ...expected.map(([typed]) => `offers ${quoted(typed)}`)].join("\n")
    )
    const flags = { bash: ["--norc"], fish: ["--no-config"], zsh: ["-f"] }[shell]
    const { stdout } = await promisify(execFile)(shell, [...flags, driver], {
      env: { ...process.env, HOME: folder, TERM: "dumb" },
      maxBuffer: 16 * 1024 * 1024
    })
    // Descriptions follow a tab, and of bash a space ends a word.
    const words = stdout.split("\n").map((line) => line.split("\t")[0]!.trim())
    return words
      .join("\n")
      .split("END\n")
      .map((lines) => lines.split("\n").filter((line) => line !== ""))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe("Completions", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    if (!isInstalled(shell)) process.stderr.write(`Completions are not tested in ${shell}, which is not installed\n`)
    it.skipIf(!isInstalled(shell))(
      `CLI-9: ${shell} offers the subcommands and flags of every command, and no others`,
      async () => {
        const found = await offered(shell)
        assert.isAbove(expected.length, 90)
        for (const [index, [typed, words]] of expected.entries()) {
          const hits = new Set(found[index])
          const others = [...hits].filter((hit) => !words.includes(hit) && !isCommon(hit))
          assert.deepStrictEqual(
            { missing: words.filter((word) => !hits.has(word)), others },
            { missing: [], others: [] },
            typed
          )
        }
      }
    )
  }

  it("CLI-9: the script of each shell says how it is made", () => {
    for (const shell of ["bash", "zsh", "fish", "powershell"] as const) {
      const script = scriptFor(shell, root)
      assert.notInclude(script, "pix --completions")
      assert.include(script, "register-webhook", shell)
    }
  })
})

/** Flags of every command, and the negated form of a flag without a value. */
const isCommon = (hit: string): boolean => /^--(?:no-|help$|version$|json$|profile$)/.test(hit)
