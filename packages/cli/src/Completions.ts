/** `pix completions`: a script for a shell. CLI-9. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Completions from "effect/cli/Completions"
import { write } from "./Terminal.ts"

/** The script for a shell. Its comment names the command that prints it. */
export const scriptFor = (shell: Completions.Shell, root: Command.Command.Any): string =>
  Completions.generate("pix", shell, Completions.fromCommand(root)).replaceAll("pix --completions", "pix completions")

/** The command, of the tree that it is a part of. */
export const completionsCommand = (root: () => Command.Command.Any) =>
  Command.make(
    "completions",
    {
      shell: Argument.Literals("shell", ["bash", "zsh", "fish", "powershell"]).pipe(
        Argument.withDescription("The shell that the script is for")
      )
    },
    ({ shell }) => Effect.sync(() => write(`${scriptFor(shell, root())}\n`))
  ).pipe(
    Command.withDescription("Print the script that completes commands in a shell"),
    Command.withExamples([
      { command: "pix completions bash > ~/.local/share/bash-completion/completions/pix" },
      { command: "pix completions zsh > ~/.zfunc/_pix" },
      { command: "pix completions fish > ~/.config/fish/completions/pix.fish" }
    ])
  )
