/** A failed call: what happened, and what to do. */
import type { Problem as Failed } from "../app/Client.ts"
import { path } from "../app/Router.ts"
import { words } from "../words/Words.ts"

export const textOf = (problem: Failed): string => {
  const { problem: texts } = words()
  if (problem.code === "NETWORK") return texts.network
  if (problem.code === "PAGE") return texts.page
  if (problem.code === "NOT_FOUND") return texts.notFound
  const [cell] = problem.details
  if (problem.code === "SERVICE_UNAVAILABLE" && cell !== undefined) return texts.moved(cell)
  const isOwn = problem.code === "INCOMPLETE" || texts.codes === undefined
  if (problem.code === "VALIDATION_ERROR" && (problem.message === "" || !isOwn)) {
    return `${texts.refused} ${problem.details.join(", ")}`
  }
  return isOwn ? problem.message : (texts.codes?.[problem.code] ?? texts.otherCode(problem.code))
}

export const Problem = ({ problem, retry }: { readonly problem: Failed; readonly retry?: () => void }) => (
  <div class="card problem" role="alert">
    <p>{textOf(problem)}</p>
    {problem.code === "NOT_FOUND" && (
      <a class="button" href={`/${path.value.split("/")[1]}`}>
        {words().actions.back}
      </a>
    )}
    {retry !== undefined && problem.code !== "NOT_FOUND" && (
      <button type="button" onClick={retry}>
        {words().actions.retry}
      </button>
    )}
  </div>
)

/** The same where it is the page: of what is not there, no data brings the heading, from which the title and the focus are. */
export const PageProblem = (props: Parameters<typeof Problem>[0]) => (
  <>
    {props.problem.code === "NOT_FOUND" && <h1>{words().problem.noResource}</h1>}
    <Problem {...props} />
  </>
)
