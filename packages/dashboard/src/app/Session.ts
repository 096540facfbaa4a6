/**
 * The session of the page: who is signed in.
 *
 * Guarantees:
 * - A browser that has not signed in makes no request, because a refused one would be an error in its console. The page cannot
 *   read the session's cookie, so a flag in local storage says that there may be one.
 * - Only a visible page uses a link: neither a prefetch nor a prerendered page does.
 * - A link does not replace another session without a question.
 */
import { computed, signal } from "@preact/signals"
import type { Session } from "@pix-payments/api/operator/Sessions"
import { call, hasSession, type Problem } from "./Client.ts"
import { forgetDrafts } from "./Drafts.ts"
import { go } from "./Router.ts"

/** Undefined before the server has answered, null where nobody is signed in. */
const current = signal<Session | null | undefined>(undefined)

const FLAG = "signed-in"

/** What the fragment of the address brings: a link's token, or how a sign-in elsewhere ended. It is removed. */
const arrival = (): { readonly link: string | null; readonly signIn: string | null } => {
  const fragment = new URLSearchParams(globalThis.location.hash.slice(1))
  const brought = { link: fragment.get("link"), signIn: fragment.get("sign-in") }
  if (brought.link !== null || brought.signIn !== null) {
    globalThis.history.replaceState(undefined, "", globalThis.location.pathname + globalThis.location.search)
  }
  return brought
}

const load = async (): Promise<void> => {
  const outcome = await call((api) => api.session.retrieve({}))
  if (outcome._tag === "Done") {
    accept(outcome.value)
    return
  }
  current.value = null
  if (outcome.problem.code === "UNAUTHORIZED") globalThis.localStorage?.removeItem(FLAG)
}

const accept = (session: Session): void => {
  current.value = session
  hasSession.value = true
  globalThis.localStorage?.setItem(FLAG, "1")
}

/** Why a link or the identity provider did not sign in. */
const refusal = signal<{ readonly by: "link" | "provider"; readonly code: string } | undefined>(undefined)

/** Resolves once the page is not prerendered any more. */
const shown = (): Promise<unknown> =>
  new Promise((resolve) => {
    const { document } = globalThis as unknown as { document: EventTarget & { readonly prerendering?: boolean } }
    if (document.prerendering === true) document.addEventListener("prerenderingchange", resolve, { once: true })
    else resolve(undefined)
  })

const PAGE = "page-before-sign-in"

/** Keeps the page that somebody wanted to see, while the identity provider shows its own. */
const keepPage = (): void => {
  globalThis.sessionStorage?.setItem(PAGE, globalThis.location.pathname + globalThis.location.search)
}

/** The kept page, which is removed. Only a path of this page. */
const pageBefore = (): string | undefined => {
  const page = globalThis.sessionStorage?.getItem(PAGE) ?? ""
  globalThis.sessionStorage?.removeItem(PAGE)
  return /^\/(?![/\\])/.test(page) ? page : undefined
}

const start = async (): Promise<void> => {
  await shown()
  const { link, signIn: ended } = arrival()
  if (link !== null) {
    if (await isSignedIn()) {
      offered.value = link
      return
    }
    if (await useLink(link)) return
  }
  const page = pageBefore()
  if (ended === "done") {
    if (page !== undefined) go(page, "replace")
    return load()
  }
  if (ended !== null) refusal.value = { by: "provider", code: ended }
  if (mayBeSignedIn()) await load()
  else current.value = null
}

/** A link that arrived while a session may exist. The page asks before it is used. */
const offered = signal<string | undefined>(undefined)

const mayBeSignedIn = (): boolean => globalThis.localStorage?.getItem(FLAG) === "1"

/** True also where the server cannot be reached. */
const isSignedIn = async (): Promise<boolean> => {
  if (mayBeSignedIn() && (current.value ?? null) === null) await load()
  return mayBeSignedIn()
}

/** False where the link was refused. */
const useLink = async (link: string): Promise<boolean> => {
  const problem = await signIn(link)
  if (problem !== undefined) refusal.value = { by: "link", code: problem.code }
  return problem === undefined
}

/** The end of the session before, whose answer removes the cookie. */
let ending: Promise<unknown> = Promise.resolve()

const signIn = async (token: string): Promise<Problem | undefined> => {
  await ending
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

/** Whether the installation has an identity provider. The server writes it into the document. */
export const hasSingleSignOn = globalThis.document.querySelector('meta[name="single-sign-on"]') !== null

export const session = {
  state: computed(() => (hasSession.value ? current.value : null)),
  refusal,
  /** Signs in by a link, or continues the session that the browser has. */
  start,
  /** Whether a link waits for an answer: it would replace the session of who is signed in. */
  hasLink: computed(() => offered.value !== undefined),
  /** Uses the link, or forgets it and keeps the session. */
  answerLink: async (isUsed: boolean): Promise<void> => {
    const link = offered.value
    offered.value = undefined
    if (!isUsed || link === undefined) {
      if ((current.value ?? null) === null) await load()
      return
    }
    // A refused link leaves nobody signed in: whoever used it wanted to be somebody else.
    session.signOut()
    await useLink(link)
  },
  /** Before the page is left for the identity provider: the sign-in comes back to it. */
  keepPage,
  /** The problem, or `undefined` after a sign-in. */
  signIn,
  signOut: (): void => {
    // First, so that no part of the page asks for anything with the ended session.
    current.value = null
    globalThis.localStorage?.removeItem(FLAG)
    forgetDrafts()
    ending = call((api) => api.session.end({}))
  }
}

/** Whether the operator is limited to accounts: what concerns the whole installation is refused (OPR-39). */
export const isLimited = (): boolean => (session.state.value?.operator.account_ids ?? null) !== null

/** Whether the installation has the simulated acquirer. */
export const isSimulated = (): boolean => session.state.value?.settings.acquirer === "simulator"
