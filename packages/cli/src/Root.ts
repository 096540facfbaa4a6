/** All commands. */
import { approveCommand } from "./Approve.ts"
import { balanceCommand } from "./Balance.ts"
import { booksCommand } from "./books/Check.ts"
import { closesCommand } from "./books/Closes.ts"
import { statementCommand } from "./books/Statement.ts"
import { completionsCommand } from "./Completions.ts"
import { doctorCommand } from "./Doctor.ts"
import { eventsCommand } from "./Resend.ts"
import { fixtureCommands } from "./fixtures/FixtureCommands.ts"
import { tailCommand } from "./LogsTail.ts"
import * as Command from "effect/cli/Command"
import { listenCommand } from "./listen/Listen.ts"
import { loginCommands } from "./Login.ts"
import { mcpCommand } from "./mcp/Mcp.ts"
import { JsonFlag } from "./Output.ts"
import { ProfileFlag } from "./Profile.ts"
import { importCommand } from "./StatementsImport.ts"
import { reconcileCommand } from "./Reconcile.ts"
import { operationCommands, resources, withHelp } from "./resources/ResourceCommands.ts"

/** Commands of a resource that are more than an operation. */
const others: Readonly<
  Record<string, ReadonlyArray<typeof approveCommand | typeof tailCommand | typeof importCommand>>
> = {
  approvals: [approveCommand],
  logs: [tailCommand],
  statements: [importCommand]
}

const resourceCommands = resources.map((resource) => {
  const { description, example } = withHelp(resource)
  const command = Command.make(resource).pipe(
    Command.withDescription(description),
    Command.withExamples([{ command: example }]),
    Command.withSubcommands([...operationCommands(resource), ...(others[resource] ?? [])])
  )
  return resource === "connections" ? Command.withAlias(command, "connection") : command
})

export const root = Command.make("pix").pipe(
  Command.withDescription("The command line of the Pix payments service"),
  Command.withExamples([
    { command: "pix login" },
    { command: "pix listen --forward-to http://localhost:4000/webhooks" },
    { command: "pix charges list --limit 50" }
  ]),
  Command.withSubcommands([
    { group: "Events", commands: [listenCommand, ...fixtureCommands, eventsCommand] },
    { group: "Money", commands: [balanceCommand, statementCommand, closesCommand, reconcileCommand, booksCommand] },
    { group: "Resources", commands: resourceCommands as [(typeof resourceCommands)[number]] },
    { group: "This machine", commands: [...loginCommands, doctorCommand, mcpCommand, completionsCommand(() => tree)] }
  ]),
  Command.withGlobalFlags([ProfileFlag, JsonFlag])
)

const tree: Command.Command.Any = root
