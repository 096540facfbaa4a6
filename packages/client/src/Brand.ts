/**
 * Names of error classes, and `instanceof` that holds across copies of this package.
 *
 * Why: an application may load the package as ESM and as CommonJS, or in two versions; a symbol from the registry of the
 * process marks the errors of all of them.
 */
type ErrorClass = abstract new (...parameters: never) => Error

const brands = new Map<unknown, symbol>()

/** Marks the errors of a class, and names them: a bundler may rename classes. */
export const brand = (name: string, type: ErrorClass): void => {
  const symbol = Symbol.for(`@pix-payments/client/${name}`)
  brands.set(type, symbol)
  Object.assign(type.prototype, { name, [symbol]: true })
}

/** `value instanceof type`, whichever copy made the value. Classes made of ours are classes like any other. */
export const isBranded = (type: ErrorClass, value: unknown): boolean => {
  const symbol = brands.get(type)
  return symbol ? symbol in Object(value) : Function.prototype[Symbol.hasInstance].call(type, value)
}
