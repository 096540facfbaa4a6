/** A state as a word with a dot. Its colour is never the only sign. */
import { words } from "../words/Words.ts"

type Tone = "good" | "busy" | "warn" | "bad" | "quiet"

const tones: Readonly<Record<string, Tone>> = {
  approved: "good",
  paid: "good",
  completed: "good",
  delivered: "good",
  won: "good",
  active: "good",
  ready: "good",
  resolved: "good",
  consistent: "good",
  matched: "good",
  done: "good",
  requested: "busy",
  missing_here: "warn",
  missing_there: "warn",
  amount_differs: "warn",
  state_differs: "warn",
  processing: "busy",
  delivering: "busy",
  infraction: "warn",
  under_review: "warn",
  open: "warn",
  waiting: "warn",
  paused: "warn",
  circuit_open: "warn",
  failed: "bad",
  failing: "bad",
  rejected: "bad",
  unusable: "bad",
  charged_back: "bad",
  lost: "bad",
  inconsistent: "bad"
}

export const toneOf = (state: string): Tone => tones[state] ?? "quiet"

/** The word of a state, or the state itself where it is new. */
export const stateName = (state: string): string => (words().states as Readonly<Record<string, string>>)[state] ?? state

/** The word of a state of a payout or a token. */
export const masculineStateName = (state: string): string => words().masculineStates[state] ?? stateName(state)

export const State = ({ name, of }: { readonly of: string; readonly name?: string | undefined }) => (
  <span class={`chip ${toneOf(of)}`}>{name ?? stateName(of)}</span>
)
