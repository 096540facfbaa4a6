/**
 * Generates the parts of both clients that follow from the API's declaration. The files are committed, so that readers need
 * neither `effect` nor the declaration.
 *
 * Guarantees: the same declaration gives the same text.
 */
import { paymentsDocument } from "@pix-payments/api/PaymentsDocument"
import { operationsOf } from "./ApiOperation.ts"
import { type Json, object } from "./JsonSchemaTypes.ts"
import { effectOperationsSource, promiseOperationsSource } from "./OperationsSource.ts"
import { resourcesSource } from "./ResourcesSource.ts"
import { routesSource } from "./RoutesSource.ts"

/** Every generated file: its path below `packages`, and its text before formatting. */
export const generate = (version: string): ReadonlyMap<string, string> => {
  const document = paymentsDocument() as Json
  const schemas = object(object(document["components"])["schemas"])
  const operations = operationsOf(document)
  return new Map([
    ["client/src/generated/Resources.ts", resourcesSource(schemas, operations)],
    ["client/src/generated/Routes.ts", routesSource(operations, version)],
    ["client/src/generated/Operations.ts", promiseOperationsSource(operations)],
    ["client-effect/src/generated/Operations.ts", effectOperationsSource(operations)]
  ])
}
