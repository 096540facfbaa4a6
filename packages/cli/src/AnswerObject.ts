/** What the answer to an operation is, from the declaration: which `object`, or lines of text. */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import type * as HttpApi from "effect/http-api/HttpApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

const successesOf = (operation: string): ReadonlyArray<SchemaAST.AST> => {
  const [group = "", endpoint = ""] = operation.split(".")
  const declared = (OperatorApi as unknown as HttpApi.Top).groups[group]?.endpoints[endpoint]
  return [...(declared?.success ?? [])].map((schema) => Schema.toEncoded(schema).ast)
}

/** Whether an operation answers in lines of text. */
export const answersLines = (operation: string): boolean => successesOf(operation).some(SchemaAST.isString)

/** Whether an operation answers with a file. */
export const answersFile = (operation: string): boolean => {
  const [group = "", endpoint = ""] = operation.split(".")
  const declared = (OperatorApi as unknown as HttpApi.Top).groups[group]?.endpoints[endpoint]
  return [...(declared?.success ?? [])].some(({ ast }) => SchemaAST.isDeclaration(ast))
}

/** The names of a success; empty for an operation that answers text or nothing. */
const namesOf = (operation: string): ReadonlyArray<unknown> =>
  successesOf(operation).flatMap((ast) => {
    const fields = SchemaAST.isObjects(ast) ? ast.propertySignatures : []
    return fields.flatMap(({ name, type }) => (name === "object" && SchemaAST.isLiteral(type) ? [type.literal] : []))
  })

/** Whether a body is what an operation answers. Fields that this release does not know are no reason against it. */
export const isAnswerOf = (operation: string, body: unknown): boolean => {
  const names = namesOf(operation)
  const { data, object } = Object(body) as Readonly<Record<string, unknown>>
  return names.length === 0 || (names.includes(object) && (object !== "list" || Array.isArray(data)))
}
