/**
 * Validation decorators that class-validator does not have.
 */
import { parseDocument } from "@pix-payments/domain/Document"
import type { RequestCode } from "@pix-payments/domain/ErrorCode"
import { parseInstant } from "@pix-payments/domain/Instant"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import { isPrintable } from "@pix-payments/domain/Text"
import { isUuid } from "@pix-payments/domain/Uuid"
import { ValidateBy, type ValidationArguments, type ValidationOptions } from "class-validator"

/** The error code of a failed check. */
export const code = (name: RequestCode) => ({ context: { code: name } })

export const IsPrintable = (options?: ValidationOptions) =>
  by("isPrintable", (value) => typeof value === "string" && isPrintable(value), options)

export const IsDocument = () =>
  by("isDocument", (value) => typeof value !== "string" || parseDocument(value) !== undefined, code("INVALID_DOCUMENT"))

export const IsInstant = () =>
  by("isInstant", (value) => typeof value === "string" && parseInstant(value) !== undefined)

export const IsId = () => by("isId", (value) => typeof value === "string" && isUuid(value))

/** The key has the form of `pix_key_type`. */
export const IsPixKey = () => by("isPixKey", (value, args) => outcomeOf(value, args) !== "Malformed")

/** A key that is a document has valid check digits. */
export const IsPixKeyDocument = () =>
  by("isPixKeyDocument", (value, args) => outcomeOf(value, args) !== "InvalidDocument", code("INVALID_DOCUMENT"))

const outcomeOf = (value: unknown, args: ValidationArguments | undefined) => {
  const type = (args?.object as { readonly pix_key_type?: unknown } | undefined)?.pix_key_type
  if (typeof value !== "string" || !isPrintable(value)) return "Other"
  if (typeof type !== "string" || !keyTypes.some((known) => known === type)) return "Other"
  const { _tag } = parsePixKey(type as (typeof keyTypes)[number], value)
  return _tag === "Valid" ? "Valid" : _tag === "InvalidDocument" ? "InvalidDocument" : "Malformed"
}

export const keyTypes = ["cpf", "cnpj", "email", "phone", "random"] as const

const by = (
  name: string,
  validate: (value: unknown, args: ValidationArguments | undefined) => boolean,
  options?: ValidationOptions
) => ValidateBy({ name, validator: { validate, defaultMessage: () => `${name} fails` } }, options)
