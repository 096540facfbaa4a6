/**
 * UUIDv7 ids with the time that they contain.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import { makeGenerator } from "@pix-payments/domain/Uuid"
import { randomFillSync } from "node:crypto"

const generate = makeGenerator((target) => randomFillSync(target))

export const nextId = () => generate(Date.now())
