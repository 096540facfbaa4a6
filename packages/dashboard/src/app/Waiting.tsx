/** How much waits for a person, beside the links of the navigation. */
import type { WaitingCounts } from "@pix-payments/api/operator/Waiting"
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { words } from "../words/Words.ts"
import { call } from "./Client.ts"
import { useLoaded } from "./Loaded.ts"

const waiting = signal<WaitingCounts | undefined>(undefined)

/** Keeps the counts up to date. Only disputes have events. */
export const useWaiting = (): void => {
  const { value } = useLoaded("waiting", (abort) => call((api) => api.waiting.retrieve(), abort), {
    events: ["dispute."],
    every: 10,
    atMost: 5
  })
  useEffect(() => {
    if (value !== undefined) waiting.value = value
  }, [value])
}

/** `3`, or `99+`. Nothing where nothing waits. */
export const WaitingCount = ({ of }: { readonly of: Exclude<keyof WaitingCounts, "object"> }) => {
  const counted = waiting.value?.[of]
  if (counted === undefined || counted.count === 0) return null
  return (
    <b title={words().nav.waiting}>
      {counted.count}
      {counted.has_more && "+"}
    </b>
  )
}
