/** The names of accounts, instead of their ids. They are read once for a visit, the newest hundred, and others as they are shown. */
import { signal } from "@preact/signals"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useEffect } from "preact/hooks"
import { call } from "../app/Client.ts"

export type AccountNames = ReadonlyMap<string, string>

const names = signal<AccountNames>(new Map())
const asked = new Set<string>()

const add = (accounts: ReadonlyArray<{ readonly id: string; readonly name: string }>): void => {
  names.value = new Map([...names.value, ...accounts.map(({ id, name }) => [id, name] as const)])
}

/** The accounts that a choice offers. */
export const useAccountNames = (): AccountNames => {
  useEffect(() => {
    if (asked.has("")) return
    asked.add("")
    call((api) => api.accounts.list({ query: { limit: 100 } })).then(
      (outcome) => {
        if (outcome._tag === "Done") add(outcome.value.data)
        else asked.delete("")
      },
      () => {}
    )
  }, [])
  return names.value
}

/** The name of an account, or its short id while it is not known. */
export const accountName = (known: AccountNames, id: string): string => known.get(id) ?? shortIdOf(id)

/** An account by its name. */
export const AccountName = ({ id }: { readonly id: string }) => {
  const known = useAccountNames()
  const isKnown = known.has(id)
  useEffect(() => {
    if (isKnown || known.size === 0 || asked.has(id)) return
    asked.add(id)
    call((api) => api.accounts.retrieve({ params: { id } })).then(
      (outcome) => {
        if (outcome._tag === "Done") add([outcome.value])
      },
      () => {}
    )
  }, [id, isKnown, known.size])
  return <bdi title={id}>{accountName(known, id)}</bdi>
}

/** The accounts of a choice, as its options; of equal names with their short ids. One that is chosen and not among them is one too. */
export const AccountOptions = ({ chosen }: { readonly chosen: string | null | undefined }) => {
  const known = useAccountNames()
  const all = [...known.values()]
  const isListed = chosen === null || chosen === undefined || chosen === "" || known.has(chosen)
  return (
    <>
      {!isListed && (
        <option value={chosen} selected>
          {accountName(known, chosen)}
        </option>
      )}
      {[...known].map(([id, name]) => (
        <option value={id} selected={id === chosen} key={id}>
          {all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} ${shortIdOf(id)}`}
        </option>
      ))}
    </>
  )
}
