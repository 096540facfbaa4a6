/**
 * A `DeliveryStore` in memory, for tests. It forgets everything at a restart, and each process has its own.
 */
import type { DeliveryStore } from "@pix-payments/client/receiver"
export declare const memoryStore: () => DeliveryStore
