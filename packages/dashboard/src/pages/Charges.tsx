/** The list of charges, with its filters in the address. */
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go, query, withQuery } from "../app/Router.ts"
import { money } from "../format/Money.ts"
import { Problem } from "../parts/Problem.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

const PAGE = 50

const filters = (of: URLSearchParams) => ({
  ...(of.get("reference") && { reference: of.get("reference")! }),
  ...(of.get("end_to_end_id") && { end_to_end_id: of.get("end_to_end_id")! }),
  ...(of.get("account_id") && { account_id: of.get("account_id")! })
})

export const Charges = () => {
  const text = words()
  const key = query.value.toString()
  const startingAfter = query.value.get("starting_after")
  const { isLoading, problem, reload, value } = useLoaded(key, (signal) =>
    call(
      (api) =>
        api.charges.list({
          query: {
            limit: PAGE,
            ...filters(query.value),
            ...(startingAfter !== null && { starting_after: startingAfter })
          }
        }),
      signal
    )
  )
  const isFiltered = Object.keys(filters(query.value)).length > 0

  return (
    <>
      <div class="head">
        <h1>{text.charges.title}</h1>
        <span class="grow" />
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault()
            go(withQuery({ reference: String(new FormData(event.currentTarget).get("reference") ?? "") }))
          }}
        >
          <label class="inline">
            {text.charges.reference}{" "}
            <input name="reference" defaultValue={query.value.get("reference") ?? ""} key={key} />
          </label>
        </form>
      </div>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value !== undefined && value.data.length === 0 && (
        <p class="quiet">
          {isFiltered ? text.list.none : text.charges.none} {isFiltered && <a href="/charges">{text.list.clear}</a>}
        </p>
      )}
      {value !== undefined && value.data.length > 0 && (
        <section class="card" aria-busy={isLoading}>
          <table>
            <thead>
              <tr>
                <th scope="col">{text.charges.amount}</th>
                <th scope="col">{text.charges.status}</th>
                <th scope="col" class="wide">
                  {text.charges.reference}
                </th>
                <th scope="col" class="wide">
                  {text.charges.customer}
                </th>
                <th scope="col" class="right">
                  {text.charges.created}
                </th>
              </tr>
            </thead>
            <tbody>
              {value.data.map((charge) => (
                <tr key={charge.id}>
                  <td>
                    <a href={`/charges/${charge.id}`}>
                      <b>{money(charge.amount)}</b>
                    </a>
                  </td>
                  <td>
                    <State of={charge.status} />
                  </td>
                  <td class="wide">{charge.reference}</td>
                  <td class="wide">{charge.customer?.name}</td>
                  <td class="right quiet nowrap">
                    <Time of={charge.created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {value !== undefined && (value.has_more || startingAfter !== null) && (
        <div class="head">
          {startingAfter !== null && <a href={withQuery({})}>{text.list.first}</a>}
          <span class="grow" />
          {value.has_more && <a href={withQuery({ starting_after: value.data.at(-1)!.id })}>{text.list.next}</a>}
        </div>
      )}
    </>
  )
}
