/** Every command of `pix`, from the tree that completions are made of. */
import * as Completions from "effect/cli/Completions"
import { root } from "../../src/Root.ts"

const paths = (
  { name, subcommands }: Completions.CommandDescriptor,
  before: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> => {
  const here = [...before, name]
  return [here, ...subcommands.flatMap((each) => paths(each, here))]
}

/** The words of each command after `pix`. `connection` is another name of `connections`. */
export const commands: ReadonlyArray<ReadonlyArray<string>> = paths(Completions.fromCommand(root))
  .map((path) => path.slice(1))
  .filter(([resource]) => resource !== "connection")
