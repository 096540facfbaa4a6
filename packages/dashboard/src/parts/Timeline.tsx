/** What happened to a resource, newest first. */
import type { ComponentChildren } from "preact"
import { absolute } from "../format/Time.ts"
import { toneOf } from "./State.tsx"

export interface Moment {
  readonly at: string
  /** Identifies it among the others; by default its place. */
  readonly key?: string
  /** A state, which gives the mark its colour. */
  readonly state: string
  readonly title: ComponentChildren
  readonly detail?: ComponentChildren
}

export const Timeline = ({ moments }: { readonly moments: ReadonlyArray<Moment> }) => (
  <ol class="line">
    {moments
      .toSorted((one, other) => (one.at === other.at ? 0 : one.at < other.at ? 1 : -1))
      .map((moment, index) => (
        <li key={moment.key ?? `${moment.at} ${index}`} class={toneOf(moment.state)}>
          <div>
            {moment.title}
            {moment.detail !== undefined && moment.detail !== false && <div class="detail">{moment.detail}</div>}
          </div>
          <time dateTime={moment.at}>{absolute(moment.at)}</time>
        </li>
      ))}
  </ol>
)
