/**
 * Resources by their names, instead of their ids. Each name is read once for a visit.
 *
 * Guarantee: what cannot be read, or is not read yet, is shown by its short id.
 */
import { signal } from "@preact/signals"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useEffect } from "preact/hooks"
import { call, type Outcome } from "../app/Client.ts"
import { isLimited } from "../app/Session.ts"

const readers: Readonly<Record<string, (id: string) => Promise<Outcome<string>>>> = {
  applications: (id) => nameOf(call((api) => api.applications.retrieve({ params: { id } }))),
  connections: (id) => nameOf(call((api) => api.connections.retrieve({ params: { id } }))),
  endpoints: async (id) => {
    const outcome = await call((api) => api.webhookEndpoints.retrieve({ params: { id } }))
    return outcome._tag === "Failed" ? outcome : { _tag: "Done", value: outcome.value.description ?? outcome.value.url }
  },
  keys: (id) => nameOf(call((api) => api.keys.retrieve({ params: { id } }))),
  operators: (id) => nameOf(call((api) => api.operators.retrieve({ params: { id } })))
}

/** Kinds that are of the installation, which operators with a limit to accounts do not read. */
const OF_INSTALLATION = new Set(["connections", "operators"])

const nameOf = async (read: Promise<Outcome<{ readonly name: string }>>): Promise<Outcome<string>> => {
  const outcome = await read
  return outcome._tag === "Failed" ? outcome : { _tag: "Done", value: outcome.value.name }
}

const names = signal<ReadonlyMap<string, string>>(new Map())
const asked = new Set<string>()

/** Whether resources of this page have names that the operator may read. */
export const isNamed = (kind: string): boolean =>
  Object.hasOwn(readers, kind) && !(OF_INSTALLATION.has(kind) && isLimited())

export const Named = ({ id, kind }: { readonly kind: string; readonly id: string }) => {
  const key = `${kind}/${id}`
  useEffect(() => {
    const read = readers[kind]
    if (read === undefined || asked.has(key)) return
    asked.add(key)
    void read(id).then(
      (outcome) => {
        if (outcome._tag === "Done") names.value = new Map(names.value).set(key, outcome.value)
      },
      () => {}
    )
  }, [key])
  return <bdi title={id}>{names.value.get(key) ?? shortIdOf(id)}</bdi>
}
