/** The page of one resource: its head, its facts, and what is missing while it loads. */
import type { ComponentChildren } from "preact"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import type * as Effect from "effect/Effect"
import { call, type OperatorClient } from "../app/Client.ts"
import { curl } from "../app/Curl.ts"
import { type Loaded, useLoaded } from "../app/Loaded.ts"
import { words } from "../words/Words.ts"
import { AccountName } from "./AccountName.tsx"
import { Copy } from "./Copy.tsx"
import { isNamed, isPayment, Named } from "./Named.tsx"
import { PageProblem } from "./Problem.tsx"
import { Skeleton } from "./Skeleton.tsx"
import { State } from "./State.tsx"

/** A resource by its id, or its problem. It follows the events that name the id. */
export const useResource = <A,>(id: string, operation: (api: OperatorClient) => Effect.Effect<A, unknown>): Loaded<A> =>
  useLoaded(id, (signal) => call(operation, signal), { events: [id], every: 10 })

/** Shows what is missing, or the problem, until there is data; then the data stays. */
export const Resource = <A,>({
  children,
  loaded
}: {
  readonly loaded: Loaded<A>
  readonly children: (value: A) => ComponentChildren
}) => (
  <>
    {loaded.problem !== undefined && <PageProblem problem={loaded.problem} retry={loaded.reload} />}
    {loaded.value === undefined && loaded.problem === undefined && <Skeleton />}
    {loaded.value !== undefined && children(loaded.value)}
  </>
)

interface HeadProps {
  readonly title: ComponentChildren
  readonly id: string
  readonly state?: string
  /** The word of the state; by default that of `State`. */
  readonly stateName?: string
  /** Shown beside the state. */
  readonly beside?: ComponentChildren
  /** The path under `/operator/v1`, to copy as `curl`. */
  readonly operation?: string
  readonly children?: ComponentChildren
}

export const Head = ({ beside, children, id, operation, state, stateName, title }: HeadProps) => (
  <div class="head">
    <h1>{title}</h1>
    {state !== undefined && <State of={state} name={stateName} />}
    {beside}
    <span class="id quiet">{id}</span>
    <Copy text={id} />
    {operation !== undefined && <Copy text={curl(`/operator/v1${operation}`)} label={words().actions.curl} isWide />}
    <span class="grow" />
    <div class="head">{children}</div>
  </div>
)

/** A card with a title. */
export const Card = ({
  children,
  note,
  title
}: {
  readonly title: string
  readonly note?: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <section class="card">
    <header>
      <h2>{title}</h2>
      {note !== undefined && <span class="quiet">{note}</span>}
    </header>
    {children}
  </section>
)

/** Names and values; a value that is absent is left out. */
export const Facts = ({ of }: { readonly of: ReadonlyArray<readonly [string, ComponentChildren]> }) => (
  <dl>
    {of.map(([name, value]) =>
      value === null || value === undefined || value === false || value === "" ? null : (
        <Fact name={name} key={name}>
          {value}
        </Fact>
      )
    )}
  </dl>
)

const Fact = ({ children, name }: { readonly name: string; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
)

/** A link to a resource, on a page of details: by its name where it has one, else by its id. */
export const IdLink = ({
  id,
  query = "",
  to
}: {
  readonly to: string
  readonly id: string | null | undefined
  readonly query?: string
}) => {
  if (id === null || id === undefined) return null
  const isAccount = to === "accounts"
  const hasName = isNamed(to) || isPayment(to)
  return (
    <a class={isAccount || hasName ? undefined : "id"} href={`/${to}/${id}${query}`}>
      {isAccount ? <AccountName id={id} /> : hasName ? <Named kind={to} id={id} /> : id}
    </a>
  )
}

/** The same by the short id, which the search finds too: for lists. */
export const ShortLink = ({ id, to }: { readonly to: string; readonly id: string | null }) =>
  id === null ? null : (
    <a class="id" href={`/${to}/${id}`} title={id}>
      {shortIdOf(id)}
    </a>
  )
