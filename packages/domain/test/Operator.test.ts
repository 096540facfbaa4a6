/** The roles of operators. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { includesRole, OperatorRole } from "../src/Operator.ts"

const Role = OperatorRole
const Least = Schema.Array(OperatorRole)

describe("roles", () => {
  it("OPR-38: include each other as in the table", () => {
    const table = OperatorRole.literals.map((role) => [
      role,
      OperatorRole.literals.filter((least) => includesRole(role, [least]))
    ])
    assert.deepStrictEqual(Object.fromEntries(table), {
      viewer: ["viewer"],
      developer: ["viewer", "developer"],
      operator: ["viewer", "operator"],
      admin: ["viewer", "developer", "operator", "admin"]
    })
  })

  it.prop("OPR-38: an admin may do everything, and nobody more than an admin", [Role, Least], ([role, least]) => {
    assert.isTrue(includesRole("admin", least))
    assert.isFalse(role !== "admin" && includesRole(role, []))
  })

  it.prop("OPR-38: a further least role never takes anything away", [Role, Least, Role], ([role, least, more]) => {
    if (includesRole(role, least)) assert.isTrue(includesRole(role, [...least, more]))
    assert.strictEqual(includesRole(role, [...least, more]), includesRole(role, least) || includesRole(role, [more]))
  })

  it.prop("OPR-38: a viewer may do only what everybody may", [Least], ([least]) => {
    if (includesRole("viewer", least)) {
      for (const role of OperatorRole.literals) assert.isTrue(includesRole(role, least), role)
    }
  })
})
