/** Calls of a process's operations, by clients and operators. A defect or a 500 is a violation. */
import type { Answer } from "../../../src/http/pipeline/Answer.ts"
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Machine } from "./Machine.ts"
import { type Request, Routes, type ServerProcess, type Services } from "./ServerProcess.ts"

export interface Calls {
  readonly broken: Array<string>
  /** How many calls are not answered by processes that live and are not frozen. */
  readonly waiting: () => number
  readonly call: <A, E>(
    process: ServerProcess,
    what: string,
    effect: Effect.Effect<A, E, Services>,
    ended: (exit: Exit.Exit<A, E>) => void
  ) => void
  /** A call of `/v1`. */
  readonly request: (process: ServerProcess, what: string, asked: Request, ended: (answer: Answer) => void) => void
  /** A call that may fail with `Unavailable` and with `allowed`, and with nothing else. */
  readonly operate: <A, E extends { readonly _tag: string }>(
    process: ServerProcess,
    what: string,
    effect: Effect.Effect<A, E, Services>,
    allowed: ReadonlyArray<string>,
    done?: (exit: Exit.Exit<A, E>) => void
  ) => void
}

export const makeCalls = (machine: Machine): Calls => {
  const broken: Array<string> = []
  const open: Array<{ readonly process: ServerProcess }> = []

  const call: Calls["call"] = (process, what, effect, ended) => {
    const one = { process }
    open.push(one)
    machine.note(process, `<- ${what}`)
    process.do(effect, (exit) => {
      open.splice(open.indexOf(one), 1)
      if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
        broken.push(`${what} dies: ${Cause.pretty(exit.cause).slice(0, 600)}`)
      }
      ended(exit)
    })
  }

  return {
    broken,
    waiting: () => open.filter(({ process }) => process.alive && process.frozenSinceMs === undefined).length,
    call,
    request: (process, what, asked, ended) =>
      call(
        process,
        what,
        Routes.use(({ answer }) => answer(asked)),
        (exit) => {
          if (Exit.isFailure(exit)) return
          const { body, status } = exit.value
          const { code } = (body ?? {}) as { readonly code?: string }
          machine.note(process, `-> ${what}: ${status} ${code ?? ""}`)
          if (status === 500) broken.push(`${what} is answered with 500`)
          ended(exit.value)
        }
      ),
    operate: (process, what, effect, allowed, done = () => {}) =>
      call(process, what, effect, (exit) => {
        const error = errorOf(exit)
        machine.note(process, `-> ${what}: ${error?._tag ?? "done"}`)
        if (error !== undefined && error._tag !== "Unavailable" && !allowed.includes(error._tag)) {
          broken.push(`${what} fails with ${error._tag}`)
        }
        done(exit)
      })
  }
}

export const errorOf = <A, E>(exit: Exit.Exit<A, E>): E | undefined => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value : undefined
}
