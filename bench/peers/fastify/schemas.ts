/**
 * JSON schemas that requests and responses of both resources use.
 */

export const text = (minimum: number, maximum: number) => ({
  type: "string",
  minLength: minimum,
  maxLength: maximum,
  format: "printable"
})

export const optional = (schema: object) => ({ ...schema, nullable: true })

export const string = { type: "string" }

export const stringOrNull = { type: "string", nullable: true }

export const errorSchema = {
  type: "object",
  properties: {
    code: string,
    message: string,
    details: { type: "array", items: string },
    charge_id: string
  }
}
