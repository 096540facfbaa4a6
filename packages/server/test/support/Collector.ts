/** A collector on loopback that keeps what is exported to it over OTLP. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Http from "node:http"

/** A span as it was exported. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
  readonly name: string
  readonly kind: number
  /** Epoch nanoseconds. */
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
  readonly attributes: ReadonlyArray<Attribute>
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string | number }
}

interface Resource {
  readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
}

interface Traces {
  readonly resourceSpans: ReadonlyArray<
    Resource & { readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }> }
  >
}

interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<{ readonly name: string }> }>
  }>
}

/** The value of an attribute. */
export const attributeOf = ({ attributes }: { readonly attributes: ReadonlyArray<Attribute> }, name: string) => {
  const value = attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}

export const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const bodies: Array<{ readonly path: string; readonly text: string }> = []
    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        bodies.push({ path: request.url ?? "", text: Buffer.concat(chunks).toString() })
        response.setHeader("content-type", "application/json")
        response.end("{}")
      })
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const sentTo = <A>(path: string) =>
      bodies.flatMap((body) => (body.path === path ? [JSON.parse(body.text) as A] : []))
    const resourceSpans = () => sentTo<Traces>("/v1/traces").flatMap((each) => each.resourceSpans)
    return {
      url: `http://127.0.0.1:${port}`,
      text: () => bodies.map(({ text }) => text).join("\n"),
      paths: () => [...new Set(bodies.map(({ path }) => path))],
      spans: () => resourceSpans().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      services: () => resourceSpans().map(({ resource }) => attributeOf(resource, "service.name")),
      metrics: () =>
        sentTo<Metrics>("/v1/metrics").flatMap(({ resourceMetrics }) =>
          resourceMetrics.flatMap(({ scopeMetrics }) =>
            scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name))
          )
        ),
      server
    }
  }),
  ({ server }) =>
    Effect.promise(() => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    })
)
