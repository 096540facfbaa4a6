/**
 * Generates `Operations.ts` of both clients: the signature of every operation, by group.
 *
 * Guarantees: the comment of every operation has its scope and its error codes.
 */
import { type Operation, pascal, queryName } from "./ApiOperation.ts"
import { documentOf, generatedHeader } from "./SourceText.ts"

/** The source of the Promise client's `Operations.ts`. */
export const promiseOperationsSource = (operations: ReadonlyArray<Operation>): string =>
  [
    generatedHeader("The operations of the Promise client, by group."),
    'import type { Call, CreateOptions, RequestOptions } from "../Call.ts"',
    'import type { PageCall } from "../PageCall.ts"',
    imports(operations, "./Resources.ts"),
    interfaces(operations, "Operations", ({ isList, result }) => (isList ? `PageCall<${result}>` : `Call<${result}>`))
  ].join("\n")

/** The source of the Effect client's `Operations.ts`. */
export const effectOperationsSource = (operations: ReadonlyArray<Operation>): string =>
  [
    generatedHeader("The operations of the Effect client, by group."),
    'import type * as Effect from "effect/Effect"',
    'import type * as Stream from "effect/Stream"',
    'import type { CreateOptions, RequestOptions } from "../Options.ts"',
    'import type { PaymentsError } from "../PaymentsError.ts"',
    imports(operations, "@pix-payments/client/internal/generated/Resources"),
    interfaces(operations, "Service", ({ isList, result }) =>
      isList ? `Stream.Stream<${result}, PaymentsError>` : `Effect.Effect<${result}, PaymentsError>`
    )
  ].join("\n")

const imports = (operations: ReadonlyArray<Operation>, from: string): string => {
  const names = operations.flatMap((operation) => [
    ...(operation.body === undefined ? [] : [operation.body]),
    ...(operation.query.length === 0 ? [] : [queryName(operation)]),
    ...(operation.result === "void" ? [] : [operation.result])
  ])
  return `import type { ${[...new Set(names)].toSorted().join(", ")} } from ${JSON.stringify(from)}\n`
}

const interfaces = (
  operations: ReadonlyArray<Operation>,
  suffix: string,
  resultType: (operation: Operation) => string
): string => {
  const groups = [...Map.groupBy(operations, ({ group }) => group)]
  const interfaceSources = groups.map(
    ([group, operations]) => `/** The operations under \`${group}\`. */
export interface ${pascal(group)}${suffix} {
${operations
  .map((operation) => {
    const parameters = [
      ...(operation.hasId ? ["id: string"] : []),
      ...(operation.body === undefined ? [] : [`params: ${operation.body}`]),
      ...(operation.query.length === 0 ? [] : [`query?: ${queryName(operation)}`]),
      `options?: ${operation.isKeyed ? "CreateOptions" : "RequestOptions"}`
    ]
    return `${documentOf([operation.description])}readonly ${operation.name}: (${parameters.join(", ")}) => ${resultType(operation)}`
  })
  .join("\n\n")}
}
`
  )
  const members = groups
    .map(([group]) => `/** The operations under \`${group}\`. */\nreadonly ${group}: ${pascal(group)}${suffix}`)
    .join("\n")
  return `${interfaceSources.join("\n")}
/** Every operation of \`/v1\`, by group and name. */
export interface ${suffix === "Service" ? "PaymentsService" : suffix} {
${members}
}
`
}
