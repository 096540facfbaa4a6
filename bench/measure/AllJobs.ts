/**
 * Every job of the bench, with its contenders and its measurement.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { loadJobs } from "../load/Jobs.ts"
import { contenders, fastify, pixPayments } from "./Contenders.ts"
import { deliver, measureDeliveries } from "./Deliveries.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { measureMemory, memory } from "./Memory.ts"
import { measurePaidCharges, paidCharges, paidChargeServers } from "./PaidCharges.ts"
import type { BenchError } from "./Processes.ts"
import { measureRequests } from "./Requests.ts"
import { measureStartUp, startUp } from "./StartUp.ts"
import type { Testbed } from "./Testbed.ts"
import { measureWebhookLatency, webhookLatency } from "./WebhookLatency.ts"
import { webhookSenders } from "./WebhookSenders.ts"

export interface Named {
  readonly name: string
}

export interface Job extends Named {
  readonly title: string
  readonly contenders: ReadonlyArray<Named & { readonly description: string }>
  /** `select` returns the contenders that the command line asks for. */
  readonly measure: (
    select: Select,
    settings: RunSettings,
    testbed: Testbed
  ) => Effect.Effect<Measurement, BenchError, Scope.Scope>
}

type Select = <A extends Named>(all: ReadonlyArray<A>) => ReadonlyArray<A>

const contendersOf = (job: string) => contenders.filter(({ jobs }) => jobs.includes(job))

const servers = [fastify, pixPayments]

export const jobs: ReadonlyArray<Job> = [
  ...loadJobs.map((job): Job => ({
    name: job.name,
    title: job.title,
    contenders: contendersOf(job.name),
    measure: (select, settings, testbed) => measureRequests(job, select(contendersOf(job.name)), settings, testbed)
  })),
  {
    ...deliver,
    contenders: webhookSenders,
    measure: (select, settings, testbed) => measureDeliveries(select(webhookSenders), settings, testbed)
  },
  {
    ...webhookLatency,
    contenders: [pixPayments],
    measure: (_select, settings, testbed) => measureWebhookLatency(pixPayments.name, settings, testbed)
  },
  {
    ...paidCharges,
    contenders: paidChargeServers,
    measure: (select, settings, testbed) => measurePaidCharges(select(paidChargeServers), settings, testbed)
  },
  {
    ...startUp,
    contenders: servers,
    measure: (select, settings, testbed) => measureStartUp(select(servers), settings, testbed)
  },
  {
    ...memory,
    contenders: servers,
    measure: (select, settings, testbed) => measureMemory(select(servers), settings, testbed)
  }
]

/** Contenders and webhook senders; one with both roles is there once. */
export const allContenders: ReadonlyArray<Named> = [
  ...new Map([...contenders, ...webhookSenders].map((each) => [each.name, each])).values()
]
