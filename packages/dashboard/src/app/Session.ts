/**
 * The session of the page: who is signed in.
 *
 * Guarantee: a browser that has not signed in makes no request, because a refused one would be an error in its console. The page
 * cannot read the session's cookie, so a mark in the browser's storage says that there may be one.
 */
import { computed, signal } from "@preact/signals"
import type { Session } from "@pix-payments/api/operator/Sessions"
import { call, hasSession, type Problem } from "./Client.ts"

/** Undefined before the server has answered, null where nobody is signed in. */
const current = signal<Session | null | undefined>(undefined)

const MARK = "signed-in"

/** The token of a sign-in link, which is removed from the address. */
const linkToken = (): string | undefined => {
  const token = new URLSearchParams(globalThis.location.hash.slice(1)).get("link")
  if (token === null) return undefined
  globalThis.history.replaceState(undefined, "", globalThis.location.pathname + globalThis.location.search)
  return token
}

const load = async (): Promise<void> => {
  const outcome = await call((api) => api.session.retrieve({}))
  if (outcome._tag === "Done") {
    accept(outcome.value)
    return
  }
  current.value = null
  if (outcome.problem.code === "UNAUTHORIZED") globalThis.localStorage?.removeItem(MARK)
}

const accept = (session: Session): void => {
  current.value = session
  hasSession.value = true
  globalThis.localStorage?.setItem(MARK, "1")
}

const start = async (): Promise<void> => {
  const token = linkToken()
  if (token !== undefined) {
    const problem = await signIn(token)
    if (problem === undefined) return
  }
  if (globalThis.localStorage?.getItem(MARK) === "1") await load()
  else current.value = null
}

const signIn = async (token: string): Promise<Problem | undefined> => {
  const outcome = await call((api) => api.signIn.create({ payload: { token } }))
  if (outcome._tag === "Failed") return outcome.problem
  accept(outcome.value)
  return undefined
}

/** Whether the operator has one of these roles. Admins have all; the server decides. */
export const may = (...roles: ReadonlyArray<"developer" | "operator" | "admin">): boolean => {
  const role = session.state.value?.operator.role
  return role === "admin" || roles.some((each) => each === role)
}

export const session = {
  state: computed(() => (hasSession.value ? current.value : null)),
  /** Signs in by a link, or continues the session that the browser has. */
  start,
  /** The problem, or `undefined` after a sign-in. */
  signIn,
  signOut: async (): Promise<void> => {
    await call((api) => api.session.end({}))
    current.value = null
    globalThis.localStorage?.removeItem(MARK)
  }
}

/** Whether the installation has the simulated acquirer. */
export const isSimulated = (): boolean => session.state.value?.settings.acquirer === "simulator"
