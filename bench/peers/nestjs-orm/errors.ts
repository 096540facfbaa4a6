/**
 * Error responses of the contract: an exception with an error code, the validation that throws it, and its filter.
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

/** The exception for a failed validation: the error code with the highest precedence, and its fields. */
export const validationException = (errors: ReadonlyArray<ValidationError>): ApiException => {
  const found = errors.flatMap((error) => leaves(error, ""))
  // A body that is not an object has no fields to list.
  if (found.length === 0) return new ApiException("VALIDATION_ERROR")
  const code = requestCodes.find((candidate) => found.some((each) => each.code === candidate)) ?? "VALIDATION_ERROR"
  return new ApiException(code, [...new Set(found.filter((each) => each.code === code).map(({ path }) => path))])
}

interface FieldError {
  readonly code: string
  readonly path: string
}

const leaves = (error: ValidationError, parent: string): ReadonlyArray<FieldError> => {
  if (!error.property) return []
  const path = parent + error.property
  if (error.children !== undefined && error.children.length > 0) {
    return error.children.flatMap((child) => leaves(child, `${path}.`))
  }
  const contexts = Object.keys(error.constraints ?? {}).map(
    (name): Context => (error.contexts?.[name] as Context | undefined) ?? {}
  )
  // A missing object stands for its required fields.
  const fields = contexts.find((context) => context.fields !== undefined)?.fields
  if (fields !== undefined) return fields.map((field) => ({ code: "VALIDATION_ERROR", path: `${path}.${field}` }))
  return contexts.map((context) => ({ code: context.code ?? "VALIDATION_ERROR", path }))
}

/** The context that our decorators attach to a check. */
interface Context {
  readonly code?: string
  readonly fields?: ReadonlyArray<string>
}

/** The global validation. It rejects an array as a body, where `ValidationPipe` would validate the items. */
export class BodyPipe extends ValidationPipe {
  override transform(value: unknown, metadata: ArgumentMetadata) {
    if (metadata.type === "body" && Array.isArray(value)) throw new ApiException("VALIDATION_ERROR")
    return super.transform(value, metadata)
  }
}

@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost) {
    const exception = this.exceptionOf(error)
    host.switchToHttp().getResponse<Reply>().status(exception.getStatus()).json(exception.getResponse())
  }

  private exceptionOf(error: unknown): ApiException {
    if (error instanceof ApiException) return error
    const status = error instanceof HttpException ? error.getStatus() : 500
    if (status === 404) return new ApiException("NOT_FOUND")
    if (status === 413) return new ApiException("PAYLOAD_TOO_LARGE")
    return new ApiException(status === 400 || status === 415 ? "VALIDATION_ERROR" : "INTERNAL_ERROR")
  }
}
