/**
 * Which requests and hooks fail, and how: by seed, or once on demand.
 *
 * Guarantees
 * - The fault of a request depends on the seed, its method and path, and how often these came before. Concurrent
 *   requests do not change it.
 * - A fault is drawn only for requests that it can affect.
 */
import { chanceOf } from "./Random.ts"

export const REQUEST_FAULTS = [
  /** The connection is cut before anything is done. */
  "dropped-before",
  /** 429 with `Retry-After`; nothing is done. */
  "too-many-requests",
  /** 401: every token is revoked; nothing is done. */
  "expired-token",
  /** A taken txid is answered 409, whatever the profile's rule. */
  "taken-txid-conflict",
  /** A taken txid is updated in silence, whatever the profile's rule. */
  "taken-txid-update",
  /** Done, then the connection is cut. */
  "dropped-after",
  /** Done, then 500. */
  "error-after",
  /** Done, then the HTML of a gateway. */
  "html",
  /** Done, and never answered. */
  "hang",
  /** Done, and answered late. */
  "slow",
  /** Done, and 200 instead of 201. */
  "ok-for-created",
  /** Done; hooks that follow from it arrive before the answer. */
  "hook-before-answer",
  /** A problem's `status` as text. */
  "status-as-text",
  /** A Pix's `devolucoes` as the object of the published example instead of a list. */
  "returns-as-object",
  /** Optional fields that are absent are null instead. */
  "null-fields",
  /** The first entry of a list has an unknown form. */
  "unknown-entry",
  /** An error in the shape of another provider, `{ erros: [{ codigo, mensagem, ocorrencia }] }`. */
  "foreign-error",
  /** 403 with `invalid_token`: every token is revoked; nothing is done. */
  "forbidden-token",
  /** 200 with the HTML of a proxy; nothing is done. */
  "proxy-page",
  /** A list of one entry as the entry alone. */
  "entry-as-object"
] as const

/** Answers that are false, or hostile, to a request that was carried out. `http/WrongAnswers.ts` has each as data. */
export const WRONG_ANSWERS = [
  /** Every amount is one cent more. */
  "other-amount",
  /** Every key, every txid or every other id is another one of the same form. */
  "other-key",
  "other-txid",
  "other-id",
  /** A state that no document names. */
  "unknown-state",
  /** Amounts with three decimals. */
  "unreadable-amount",
  /** Amounts as JSON numbers, and without the decimals that are zero. */
  "number-amount",
  "short-amount",
  /** Ids with NUL, with half of a character, or of 10,000 characters. */
  "nul-in-id",
  "surrogate-in-id",
  "long-id",
  /** Names and texts with NUL, an escape sequence and half of a character, or of 10,000 characters. */
  "control-in-text",
  "long-text",
  /** Everything but ids, amounts, keys and states has another type. */
  "wrong-types",
  /** Returns that cannot be read, in a Pix or a payout that can be. */
  "unreadable-returns",
  /** Instants without an offset, as clocks in São Paulo show them, that are none, or the first of a calendar. */
  "local-instant",
  "unreadable-instant",
  "first-instant",
  /** A list has one more entry, of a key that is not the client's. */
  "foreign-entry",
  /** A list lacks its first entry, and says how many there are. */
  "missing-entry",
  /** A list without the numbers of its page. */
  "no-page",
  /** The BR code is empty, of 1 MB, has escape sequences, or names another amount or a stranger's key. */
  "empty-br-code",
  "long-br-code",
  "escaped-br-code",
  "other-br-code",
  "stranger-br-code",
  /** Every token is revoked, and 401 has a body that no document names: each time the next of `UNAUTHORIZED_BODIES`. */
  "odd-unauthorized"
] as const
export type WrongAnswer = (typeof WRONG_ANSWERS)[number]

export type RequestFault = (typeof REQUEST_FAULTS)[number] | WrongAnswer

export const HOOK_FAULTS = ["hook-twice", "hook-late", "hook-never"] as const
export type HookFault = (typeof HOOK_FAULTS)[number]

export type Fault = RequestFault | HookFault
export type Rates = Readonly<Partial<Record<Fault, number>>>

export interface FaultMatch {
  readonly method?: string
  readonly path?: RegExp
}

export interface Faults {
  readonly ofRequest: (method: string, path: string) => RequestFault | undefined
  /** `name` identifies the notification. */
  readonly ofHook: (name: string) => HookFault | undefined
  /** Gives this fault to the next request that matches, or to the next hook. */
  readonly once: (fault: Fault, match?: FaultMatch) => void
  /** Gives this fault to every request that matches, or to every hook, until the function that it returns is called. */
  readonly always: (fault: Fault, match?: FaultMatch) => () => void
  /** Replaces the rates; `{}` ends all faults but planned ones. */
  readonly setRates: (rates: Rates) => void
  readonly counts: ReadonlyMap<Fault, number>
}

export const makeFaults = (seed: number, initial: Rates = {}): Faults => {
  let rates = initial
  const seen = new Map<string, number>()
  const counts = new Map<Fault, number>()
  const planned: Array<Planned> = []

  const count = <F extends Fault>(fault: F): F => {
    counts.set(fault, (counts.get(fault) ?? 0) + 1)
    return fault
  }

  const kindsOfRequest: ReadonlyArray<RequestFault> = [...REQUEST_FAULTS, ...WRONG_ANSWERS]

  const draw = <F extends Fault>(kinds: ReadonlyArray<F>, method: string, path: string): F | undefined => {
    const name = `${method} ${path}`
    const nth = seen.get(name) ?? 0
    seen.set(name, nth + 1)
    const plan = planned.findIndex(
      ({ fault, applies }) => (kinds as ReadonlyArray<Fault>).includes(fault) && applies(method, path)
    )
    if (plan >= 0) {
      const { fault, isKept } = planned[plan]!
      if (!isKept) planned.splice(plan, 1)
      return count(fault as F)
    }
    const drawn = kinds.find((kind) => {
      const rate = rates[kind] ?? 0
      return rate > 0 && canShow(kind, method, path) && chanceOf(`${seed}|${name}|${nth}|${kind}`) < rate
    })
    return drawn === undefined ? undefined : count(drawn)
  }

  return {
    ofRequest: (method, path) => draw(kindsOfRequest, method, path),
    ofHook: (name) => draw(HOOK_FAULTS, "HOOK", name),
    once: (fault, match) => {
      planned.push(plannedOf(fault, match, false))
    },
    always: (fault, match) => {
      const plan = plannedOf(fault, match, true)
      planned.push(plan)
      return () => {
        const place = planned.indexOf(plan)
        if (place >= 0) planned.splice(place, 1)
      }
    },
    setRates: (next) => {
      rates = next
    },
    counts
  }
}

interface Planned {
  readonly fault: Fault
  readonly applies: (method: string, path: string) => boolean
  readonly isKept: boolean
}

const plannedOf = (fault: Fault, match: FaultMatch | undefined, isKept: boolean): Planned => ({
  fault,
  applies: (method, path) =>
    (match?.method === undefined || match.method === method) &&
    (match?.path === undefined || match.path.test(path)) &&
    canShow(fault, method, path),
  isKept
})

const canShow = (fault: Fault, method: string, path: string): boolean => {
  switch (fault) {
    case "expired-token":
    case "forbidden-token":
    case "odd-unauthorized":
      return !path.endsWith("/oauth/token")
    case "taken-txid-conflict":
    case "taken-txid-update":
      return method === "PUT" && /\/cob\/[^/]+$/.test(path)
    case "ok-for-created":
      return method === "PUT" || path.endsWith("/cob")
    case "hook-before-answer":
      return method === "PUT" && /\/devolucao\/|\/gn\/pix\//.test(path)
    case "returns-as-object":
      return method === "GET" && /\/(pix|cob)(\/|$)/.test(path)
    case "unknown-entry":
    case "entry-as-object":
      return method === "GET" && /\/(pix|enviados|infracoes)$/.test(path)
    case "other-txid":
      return /\/(cob|pix)(\/|$)/.test(path) && !BANKS_OWN.test(path)
    case "foreign-entry":
    case "missing-entry":
    case "no-page":
      return method === "GET" && /\/(pix|enviados|infracoes)$/.test(path)
    case "empty-br-code":
    case "long-br-code":
    case "escaped-br-code":
    case "other-br-code":
    case "stranger-br-code":
      return /\/cob\/[^/]+$/.test(path)
    case "unreadable-returns":
      return method === "GET" && /\/(pix|enviados)(\/|$)/.test(path)
    default:
      return (
        !(WRONG_ANSWERS as ReadonlyArray<Fault>).includes(fault) ||
        /\/(cob|pix|pagamentos|infracoes|saldo)(\/|$)/.test(path)
      )
  }
}

/** Paths that the central bank's document does not have. */
const BANKS_OWN = /\/(gn|banking)\//
