import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  ConnectionKind,
  ConnectionProfile,
  ConnectionState,
  ExceptionRule,
  SIMULATOR_CONNECTION
} from "../src/AcquirerConnection.ts"
import { ExceptionAction } from "../src/AcquirerException.ts"

it("API-3: the simulator's connection has an id that is before all others", () => {
  const isVersion7 = Schema.is(Schema.String.check(Schema.isUUID(7)))
  assert.isTrue(isVersion7(SIMULATOR_CONNECTION))
  assert.isBelow(SIMULATOR_CONNECTION.localeCompare("0199a1b2-0000-7000-8000-000000000000"), 0)
})

it("BAL-12: a rule holds an exception, or does what an operator may do with its money", () => {
  const actions = ExceptionAction.literals.filter(Schema.is(ExceptionRule))
  assert.sameMembers(actions, ["return", "accept"])
  assert.isTrue(Schema.is(ExceptionRule)("hold"))
  assert.isFalse(Schema.is(ExceptionRule)("dismiss"))
})

it("a connection is to the simulator or to an API Pix, of a provider that is known", () => {
  for (const kind of ["simulator", "api-pix"]) assert.isTrue(Schema.is(ConnectionKind)(kind))
  for (const profile of ["bacen", "efi", "sicoob"]) {
    assert.isTrue(Schema.is(ConnectionProfile)(profile))
    assert.isFalse(Schema.is(ConnectionKind)(profile))
  }
  for (const other of ["", "Efi", "nubank"]) assert.isFalse(Schema.is(ConnectionProfile)(other))
  for (const state of ["ready", "paused"]) assert.isTrue(Schema.is(ConnectionState)(state))
  assert.isFalse(Schema.is(ConnectionState)("open"))
})
