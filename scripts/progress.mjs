/** How far an install is, from what pnpm prints: `Progress: resolved 412, reused 20, downloaded 143, added 120`. */

/** `163 of 412 packages`; `undefined` before pnpm has said anything. */
export const progressOf = (output) => {
  const [, resolved, reused, downloaded] =
    [...output.matchAll(/Progress: resolved (\d+), reused (\d+), downloaded (\d+)/g)].at(-1) ?? []
  return resolved === undefined ? undefined : `${Number(reused) + Number(downloaded)} of ${resolved} packages`
}

/**
 * Shows a step until it ends: on a terminal one line that changes each second, elsewhere another line each `everyMs`.
 * Returns how to end it.
 */
export const showProgress = (stream, textOf, everyMs = 10_000) => {
  const startedAt = performance.now()
  const line = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    return ["   ", textOf(), `${seconds} s`].filter((part) => part !== undefined).join(" ")
  }
  const timer = stream.isTTY
    ? setInterval(() => stream.write(`\r\u001B[K${line()}`), 1000)
    : setInterval(() => stream.write(`${line()}\n`), everyMs)
  return () => {
    clearInterval(timer)
    if (stream.isTTY) stream.write("\r\u001B[K")
  }
}
