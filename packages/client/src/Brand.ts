/**
 * Names of the error classes, and an `instanceof` that works across copies of this package.
 *
 * Why: an application may load the package both as ESM and as CommonJS, or in two versions. A symbol of the global
 * registry marks the errors of every copy.
 */
type ErrorClass = abstract new (...parameters: never) => Error

const brands = new Map<unknown, symbol>()

/** Names and marks the errors of a class. The name is explicit because a bundler may rename classes. */
export const brand = (name: string, type: ErrorClass): void => {
  const symbol = Symbol.for(`@pix-payments/client/${name}`)
  brands.set(type, symbol)
  Object.assign(type.prototype, { name, [symbol]: true })
}

/** `value instanceof type`, whichever copy made the value. Subclasses that an application declares use plain `instanceof`. */
export const isBranded = (type: ErrorClass, value: unknown): boolean => {
  const symbol = brands.get(type)
  return symbol ? symbol in Object(value) : Function.prototype[Symbol.hasInstance].call(type, value)
}
