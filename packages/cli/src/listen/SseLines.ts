/**
 * Server-sent events as this service writes them: an id, and data unless it is a heartbeat.
 *
 * Guarantee: at most `MAX_EVENT_CHARACTERS` of an event that is not complete are kept.
 *
 * Why not effect's parser: it drops an id without data, and a heartbeat's id is the position to continue from.
 */

export interface Arrived {
  readonly id: string
  /** The body of a delivery; `undefined` for a heartbeat. */
  readonly text: string | undefined
}

const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024

export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge"
}

/** A parser of one stream: returns what is complete with this chunk. */
export const sseParser = (): ((chunk: string) => ReadonlyArray<Arrived>) => {
  let rest = ""
  return (chunk) => {
    const blocks = (rest + chunk.replaceAll("\r", "")).split("\n\n")
    rest = blocks.pop() ?? ""
    if (rest.length > MAX_EVENT_CHARACTERS) throw new EventTooLarge("An event of the stream is too large.")
    return blocks.flatMap((block) => {
      const lines = block.split("\n")
      const valuesOf = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).replace(/^ /, ""))
      const id = valuesOf("id").at(-1)
      const data = valuesOf("data")
      return id === undefined ? [] : [{ id, text: data.length === 0 ? undefined : data.join("\n") }]
    })
  }
}
