/** Whose books a page shows: an account's or a bank account's, chosen in the address; by default those of the newest account. */
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go, query, withQuery } from "../app/Router.ts"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { connectionName } from "./Named.tsx"
import { inBoth } from "../words/Words.ts"

export interface Books {
  readonly kind: "account" | "connection"
  readonly id: string
  readonly name: string
}

/** Those of the first hundred of each kind; a page of one leads here too. */
const MOST = 100

/** The books that the address names, and those to choose from. Undefined until they are known. */
export const useBooks = (): { readonly chosen: Books | undefined; readonly all: ReadonlyArray<Books> } => {
  const accounts = useLoaded("accounts", (signal) =>
    call((api) => api.accounts.list({ query: { limit: MOST } }), signal)
  )
  // Operators who are limited to accounts see no connection.
  const connections = useLoaded("connections", (signal) =>
    call((api) => api.connections.list({ query: { limit: MOST } }), signal)
  )
  const of = (kind: Books["kind"], rows: ReadonlyArray<{ readonly id: string; readonly name: string }> = []) =>
    rows.map((row): Books => ({ kind, id: row.id, name: connectionName(row) }))
  const all = [...of("account", accounts.value?.data), ...of("connection", connections.value?.data)]
  for (const kind of ["account", "connection"] as const) {
    const id = query.value.get(`${kind}_id`)
    if (id !== null) return { chosen: all.find((each) => each.id === id) ?? { kind, id, name: shortIdOf(id) }, all }
  }
  return { chosen: accounts.value === undefined ? undefined : all[0], all }
}

/** The parameter of an address that names books. */
export const parameterOf = ({ id, kind }: Pick<Books, "id" | "kind">): Readonly<Record<string, string>> => ({
  [`${kind}_id`]: id
})

export const BookChoice = ({ all, chosen }: { readonly all: ReadonlyArray<Books>; readonly chosen: Books }) => {
  const text = choiceWords()
  const isListed = all.some(({ id }) => id === chosen.id)
  const listed = isListed ? all : [chosen, ...all]
  return (
    <label class="inline">
      <span class="unseen">{text.books}</span>
      <select
        onChange={(event) => {
          const books = listed.find(({ id }) => id === event.currentTarget.value)
          if (books !== undefined)
            go(withQuery({ account_id: undefined, connection_id: undefined, ...parameterOf(books) }))
        }}
      >
        {(["account", "connection"] as const).map((kind) => (
          <optgroup label={text[kind]} key={kind}>
            {listed
              .filter((each) => each.kind === kind)
              .map(({ id, name }) => (
                <option value={id} selected={id === chosen.id} key={id}>
                  {name}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </label>
  )
}

const choiceWords = inBoth({
  en: { books: "Books of", account: "Accounts", connection: "Bank accounts" },
  pt: { books: "Livros de", account: "Contas", connection: "Contas bancárias" }
})
