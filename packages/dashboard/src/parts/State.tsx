/** A state as a word with a dot. Its colour is never the only sign. */
import { words } from "../words/Words.ts"

type Tone = "good" | "busy" | "warn" | "bad" | "quiet"

const tones: Readonly<Record<string, Tone>> = {
  paid: "good",
  completed: "good",
  delivered: "good",
  won: "good",
  processing: "busy",
  delivering: "busy",
  infraction: "warn",
  under_review: "warn",
  open: "warn",
  failed: "bad",
  charged_back: "bad",
  lost: "bad"
}

export const toneOf = (state: string): Tone => tones[state] ?? "quiet"

const isKnown = (state: string): state is keyof ReturnType<typeof words>["states"] => state in words().states

export const State = ({ of }: { readonly of: string }) => (
  <span class={`chip ${toneOf(of)}`}>{isKnown(of) ? words().states[of] : of}</span>
)
