/** The tasks, and what becomes of a solution: accepted, or refused for a reason. */
import { readdirSync } from "node:fs"
import { Refusal, type Service, withWorld, type World } from "./World.ts"

/** The names of all tasks. */
export const names: ReadonlyArray<string> = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".md") && name !== "README.md")
  .map((name) => name.slice(0, -".md".length))

/** Runs a solution against the service. `accepted`, or why it is refused. */
export const verdictOf = async (name: string, solution: unknown, service: Service): Promise<string> => {
  const { grade } = (await import(`./graders/${name}.ts`)) as {
    grade: (world: World, solution: unknown) => Promise<void>
  }
  try {
    await withWorld(service, (world) => grade(world, solution))
    return "accepted"
  } catch (error) {
    if (error instanceof Refusal) return error.message
    // What the solution throws refuses it as well.
    return `it throws ${String(error)}`
  }
}
