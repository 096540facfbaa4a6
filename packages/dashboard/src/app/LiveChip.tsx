/** The word at the top that says whether what is shown is current: not while the database or a bank is away. */
import { followClock } from "../parts/Time.tsx"
import { inBoth, words } from "../words/Words.ts"
import { call } from "./Client.ts"
import { liveState } from "./Live.ts"
import { useLoaded } from "./Loaded.ts"
import { isLimited } from "./Session.ts"

const tones = { live: "good", polling: "quiet", paused: "quiet", offline: "warn" } as const

/** What is away: the database, or a bank by its name. */
type Outage = { readonly of: "database" } | { readonly of: "bank"; readonly name: string }

const read = async (signal: AbortSignal) => {
  const answer = await fetch("/health/ready", { signal })
  followClock(answer.headers.get("date"))
  const ready = (await answer.json()) as { readonly database?: unknown }
  const none = { _tag: "Done" as const, value: undefined as Outage | undefined }
  if (ready.database !== "ok") return { ...none, value: { of: "database" } as Outage }
  if (isLimited()) return none
  const connections = await call((api) => api.connections.list({ query: { limit: 100 } }), signal)
  if (connections._tag === "Failed") return none
  const away = connections.value.data.find(({ state }) => state === "circuit_open")
  return { ...none, value: away === undefined ? undefined : ({ of: "bank", name: away.name } as Outage) }
}

export const LiveChip = () => {
  const { value: outage } = useLoaded("outages", read, { every: 15 })
  const { live } = words()
  const text = chipWords()
  const state = liveState.value
  if (outage !== undefined) {
    const [name, hint] =
      outage.of === "database" ? [text.database, text.databaseHint] : [text.bank(outage.name), text.bankHint]
    return (
      <span class="chip bad" title={hint} data-live={outage.of} role="status">
        {name}
      </span>
    )
  }
  return (
    <span class={`chip ${tones[state]}`} title={live[state].hint} data-live={state}>
      {live[state].name}
    </span>
  )
}

const chipWords = inBoth({
  en: {
    database: "database away",
    databaseHint: "The service cannot reach its database. The page shows what it last answered.",
    bank: (name: string) => `${name} does not answer`,
    bankHint: "Calls to this bank fail. Charges and payouts wait and are sent again."
  },
  pt: {
    database: "banco de dados fora",
    databaseHint: "O serviço não alcança o banco de dados. A página mostra a última resposta.",
    bank: (name) => `${name} não responde`,
    bankHint: "As chamadas a este banco falham. Cobranças e pagamentos aguardam e são enviados de novo."
  }
})
