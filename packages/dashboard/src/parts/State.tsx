/** A state as a word with a dot. Its colour is never the only sign. */
import { words } from "../words/Words.ts"

type Tone = "good" | "busy" | "warn" | "bad" | "quiet"

const tones: Readonly<Record<string, Tone>> = {
  paid: "good",
  completed: "good",
  delivered: "good",
  won: "good",
  active: "good",
  consistent: "good",
  processing: "busy",
  delivering: "busy",
  infraction: "warn",
  under_review: "warn",
  open: "warn",
  waiting: "warn",
  failed: "bad",
  charged_back: "bad",
  lost: "bad",
  inconsistent: "bad"
}

export const toneOf = (state: string): Tone => tones[state] ?? "quiet"

/** The word of a state, or the state itself where it is new. */
export const stateName = (state: string): string => (words().states as Readonly<Record<string, string>>)[state] ?? state

export const State = ({ of }: { readonly of: string }) => <span class={`chip ${toneOf(of)}`}>{stateName(of)}</span>
