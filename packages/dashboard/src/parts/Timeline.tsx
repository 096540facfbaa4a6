/** What happened to a resource, newest first. */
import type { ComponentChildren } from "preact"
import { absolute } from "../format/Time.ts"
import { toneOf } from "./State.tsx"

export interface Moment {
  readonly at: string
  /** A state, which gives the mark its colour. */
  readonly state: string
  readonly title: ComponentChildren
  readonly detail?: ComponentChildren
}

export const Timeline = ({ moments }: { readonly moments: ReadonlyArray<Moment> }) => (
  <ol class="line">
    {moments
      .toSorted((one, other) => (one.at < other.at ? 1 : -1))
      .map((moment, index) => (
        <li key={`${moment.at} ${index}`} class={toneOf(moment.state)}>
          <div>
            {moment.title}
            {moment.detail !== undefined && <p>{moment.detail}</p>}
          </div>
          <time dateTime={moment.at}>{absolute(moment.at)}</time>
        </li>
      ))}
  </ol>
)
