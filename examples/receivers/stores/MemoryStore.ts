/**
 * Deliveries in memory, for tests and for receivers of which one process runs and never restarts.
 */
import type { ReceiverStore } from "@pix-payments/client/receiver"

export const memoryStore = (): ReceiverStore => {
  const deliveries = new Map<string, "busy" | "done">()
  const sequences = new Map<string, number>()
  return {
    claim: ({ id, resource, sequence }) => {
      const known = deliveries.get(id)
      if (known !== undefined) return known
      deliveries.set(id, "busy")
      const last = sequences.get(resource) ?? 0
      sequences.set(resource, Math.max(last, sequence))
      return sequence < last ? "stale" : "new"
    },
    release: ({ id }, isAccepted) => {
      if (isAccepted) deliveries.set(id, "done")
      else deliveries.delete(id)
    }
  }
}
