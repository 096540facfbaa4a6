/**
 * Resources by their names, instead of their ids. Each name is read once for a visit.
 *
 * Guarantee: what cannot be read, or is not read yet, is shown by its short id.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { signal } from "@preact/signals"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useEffect } from "preact/hooks"
import { call, type Outcome } from "../app/Client.ts"
import { isLimited } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { words } from "../words/Words.ts"

const readers: Readonly<Record<string, (id: string) => Promise<Outcome<string>>>> = {
  applications: (id) => nameOf(call((api) => api.applications.retrieve({ params: { id } }))),
  connections: (id) =>
    read(
      call((api) => api.connections.retrieve({ params: { id } })),
      connectionName
    ),
  endpoints: (id) =>
    read(
      call((api) => api.webhookEndpoints.retrieve({ params: { id } })),
      ({ description, url }) => description ?? url
    ),
  keys: (id) => nameOf(call((api) => api.keys.retrieve({ params: { id } }))),
  operators: (id) => nameOf(call((api) => api.operators.retrieve({ params: { id } })))
}

/** Of what a page of details leads to. A list has a row for each, and its short id is enough there. */
const paymentReaders: typeof readers = {
  charges: (id) =>
    read(
      call((api) => api.charges.retrieve({ params: { id }, query: {} })),
      paymentName
    ),
  payouts: (id) =>
    read(
      call((api) => api.payouts.retrieve({ params: { id }, query: {} })),
      paymentName
    ),
  disputes: (id) =>
    read(
      call((api) => api.disputes.retrieve({ params: { id }, query: {} })),
      paymentName
    )
}

const paymentName = ({ amount, reference }: { readonly amount: number; readonly reference: string | null }): string =>
  [money(amount), reference].filter(Boolean).join(" · ")

/** That of the simulator has no name that a person gave. */
export const connectionName = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  id === SIMULATOR_CONNECTION && name === "Simulator" ? words().nav.simulator : name

/** Kinds that are of the installation, which operators with a limit to accounts do not read. */
const OF_INSTALLATION = new Set(["connections", "operators"])

const read = async <A,>(reading: Promise<Outcome<A>>, name: (value: A) => string): Promise<Outcome<string>> => {
  const outcome = await reading
  return outcome._tag === "Failed" ? outcome : { _tag: "Done", value: name(outcome.value) }
}

const nameOf = (reading: Promise<Outcome<{ readonly name: string }>>) => read(reading, ({ name }) => name)

const names = signal<ReadonlyMap<string, string>>(new Map())
const asked = new Set<string>()

/** Whether resources of this page have names that the operator may read. */
export const isNamed = (kind: string): boolean =>
  Object.hasOwn(readers, kind) && !(OF_INSTALLATION.has(kind) && isLimited())

export const isPayment = (kind: string): boolean => Object.hasOwn(paymentReaders, kind)

export const Named = ({ id, kind }: { readonly kind: string; readonly id: string }) => {
  const key = `${kind}/${id}`
  useEffect(() => {
    const reader = readers[kind] ?? paymentReaders[kind]
    if (reader === undefined || asked.has(key)) return
    asked.add(key)
    void reader(id).then(
      (outcome) => {
        if (outcome._tag === "Done") names.value = new Map(names.value).set(key, outcome.value)
      },
      () => {}
    )
  }, [key])
  return <bdi title={id}>{names.value.get(key) ?? shortIdOf(id)}</bdi>
}
