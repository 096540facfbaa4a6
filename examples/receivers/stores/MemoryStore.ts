/**
 * A `DeliveryStore` in memory, for tests. It forgets everything at a restart, and each process has its own.
 */
import type { DeliveryStore } from "@pix-payments/client/receiver"

export const memoryStore = (): DeliveryStore => {
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
    release: ({ id }, isHandled) => {
      if (isHandled) deliveries.set(id, "done")
      else deliveries.delete(id)
    }
  }
}
