/**
 * The error bodies of the contract: an exception with a code, what validation makes of it, and the filter that answers.
 */
import {
  type ArgumentMetadata,
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  ValidationPipe
} from "@nestjs/common"
import { type ErrorCode, errorCodes, requestCodes } from "@pix-payments/domain/ErrorCode"
import type { ValidationError } from "class-validator"
import type { Reply } from "./http.ts"

export class ApiException extends HttpException {
  constructor(code: ErrorCode, details?: ReadonlyArray<string>) {
    const { message, status } = errorCodes[code]
    super(details === undefined ? { code, message } : { code, message, details }, status)
  }
}

/** What a validation that failed is answered with: the first code that applies, with the fields that it is about. */
export const refused = (errors: ReadonlyArray<ValidationError>): ApiException => {
  const found = errors.flatMap((error) => leaves(error, ""))
  // Of what is no object at all, no field can be named.
  if (found.length === 0) return new ApiException("VALIDATION_ERROR")
  const code = requestCodes.find((candidate) => found.some((each) => each.code === candidate)) ?? "VALIDATION_ERROR"
  return new ApiException(code, [...new Set(found.filter((each) => each.code === code).map(({ path }) => path))])
}

interface Broken {
  readonly code: string
  readonly path: string
}

const leaves = (error: ValidationError, parent: string): ReadonlyArray<Broken> => {
  if (!error.property) return []
  const path = parent + error.property
  if (error.children !== undefined && error.children.length > 0) {
    return error.children.flatMap((child) => leaves(child, `${path}.`))
  }
  const contexts = Object.keys(error.constraints ?? {}).map(
    (name): Context => (error.contexts?.[name] as Context | undefined) ?? {}
  )
  // A missing object lists its required fields.
  const fields = contexts.find((context) => context.fields !== undefined)?.fields
  if (fields !== undefined) return fields.map((field) => ({ code: "VALIDATION_ERROR", path: `${path}.${field}` }))
  return contexts.map((context) => ({ code: context.code ?? "VALIDATION_ERROR", path }))
}

/** What our decorators say of a check. */
interface Context {
  readonly code?: string
  readonly fields?: ReadonlyArray<string>
}

/** The validation of every argument; a list is no body, where Nest would look at its items. */
export class BodyPipe extends ValidationPipe {
  override transform(value: unknown, metadata: ArgumentMetadata) {
    if (metadata.type === "body" && Array.isArray(value)) throw new ApiException("VALIDATION_ERROR")
    return super.transform(value, metadata)
  }
}

@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost) {
    const answer = this.answerOf(error)
    host.switchToHttp().getResponse<Reply>().status(answer.getStatus()).json(answer.getResponse())
  }

  private answerOf(error: unknown): ApiException {
    if (error instanceof ApiException) return error
    const status = error instanceof HttpException ? error.getStatus() : 500
    if (status === 404) return new ApiException("NOT_FOUND")
    if (status === 413) return new ApiException("PAYLOAD_TOO_LARGE")
    return new ApiException(status === 400 || status === 415 ? "VALIDATION_ERROR" : "INTERNAL_ERROR")
  }
}
