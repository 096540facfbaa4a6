/**
 * The provider's API as a function from request to answer.
 *
 * Guarantees
 * - No I/O, so that a socket and a simulation use the same API.
 * - A request that breaks the contract is recorded as a violation and refused.
 * - An answer that breaks the contract is a defect of the double: it is recorded and replaced by a 500. Answers that a
 *   fault spoils are exempt.
 */
import * as Result from "effect/Result"
import type { Profile } from "./Profile.ts"
import type { Provider } from "../provider/Provider.ts"
import { type Answer, problem } from "./Answer.ts"
import type { Contract } from "./Contract.ts"
import type { Overrides } from "./Routes.ts"
import type { Tokens } from "./Tokens.ts"

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

export interface Breach {
  /** `put /v2/cob/{txid}`, or `hook`. */
  readonly operation: string
  readonly failures: ReadonlyArray<string>
}

export interface Api {
  readonly handle: (request: ApiRequest, spoiled?: Partial<Overrides>) => Answer
  /** Requests that broke the contract. */
  readonly violations: ReadonlyArray<Breach>
  /** Answers and hooks of the double that broke it. */
  readonly defects: ReadonlyArray<Breach>
  /** Validates the body of a hook; failures are defects. */
  readonly checkHook: (body: unknown) => void
}

export const makeApi = (options: {
  readonly profile: Profile
  readonly provider: Provider
  readonly tokens: Tokens
  readonly contract: Contract
}): Api => {
  const { profile, provider, tokens, contract } = options
  const routes = profile.routes(provider, profile)
  const violations: Array<Breach> = []
  const defects: Array<Breach> = []

  const answer = (request: ApiRequest, spoiled: Partial<Overrides> | undefined): Answer => {
    const found = contract.match(request.method, request.path)
    const handler = found === undefined ? undefined : routes[found.operation.id]
    if (found === undefined || handler === undefined) {
      violations.push({ operation: `${request.method} ${request.path}`, failures: ["the provider has no such path"] })
      return problem(404, "NaoEncontrado", "Não Encontrado", "Entidade não encontrada.")
    }
    const { operation, params } = found
    const granted = tokens.scopesOf(request.headers["authorization"])
    if (granted === undefined) return unauthorized()
    if (!operation.scopes.some((scope) => granted.includes(scope))) {
      return profile.insufficientScope(operation.id)
    }

    const body = parse(request.body)
    const checked = operation.checkRequest({ params, query: request.query, headers: request.headers, body })
    const { query } = checked
    const failures = [...missing(request, profile), ...checked.failures]
    if (failures.length > 0) {
      violations.push({ operation: operation.id, failures })
      return profile.invalid(failures, operation.id)
    }
    return Result.match(
      handler({ params, query, headers: request.headers, body }, { takenTxid: profile.takenTxid, ...spoiled }),
      {
        onSuccess: (success) => success,
        onFailure: (refusal) => profile.refusal(refusal, operation.id)
      }
    )
  }

  return {
    violations,
    defects,
    handle: (request, spoiled) => {
      if (request.path === profile.tokenPath && request.method === "POST") return tokens.issue(request)
      provider.settleDue()
      const given = answer(request, spoiled)
      const operation = contract.match(request.method, request.path)?.operation
      if (operation === undefined || spoiled !== undefined) return given
      const failures = operation.checkAnswer(given.status, given.headers["content-type"], parse(given.body ?? ""))
      if (failures.length === 0) return given
      defects.push({ operation: operation.id, failures })
      return problem(500, "ErroInternoDoServidor", "The double breaks the contract", failures.join("; "))
    },
    checkHook: (body) => {
      const failures = contract.checkHook(body)
      if (failures.length > 0) defects.push({ operation: "hook", failures })
    }
  }
}

const missing = ({ headers, query }: ApiRequest, { requiredHeaders, requiredQuery }: Profile): Array<string> => [
  ...requiredHeaders.filter((name) => headers[name] === undefined).map((name) => `header ${name}: is required`),
  ...requiredQuery.filter((name) => query[name] === undefined).map((name) => `query ${name}: is required`)
]

/** RFC 6750, because neither document says how a missing or expired token is answered. */
const unauthorized = (): Answer => {
  const given = problem(401, "AcessoNegado", "Não autorizado", "The access token is missing, unknown or has expired.")
  return { ...given, headers: { ...given.headers, "www-authenticate": 'Bearer error="invalid_token"' } }
}

/** Undefined for no body, and for text that is not JSON. */
const parse = (text: string): unknown => {
  try {
    return text === "" ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
