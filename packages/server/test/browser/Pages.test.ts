/** Every page of the dashboard, as `inspect` looks at it (`Visit.ts`). */
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { dashboardPages, SIGN_IN } from "./DashboardPages.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Pages", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "every page, in light and dark, on a narrow screen and in Portuguese, has nothing that axe or the console report",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        yield* visiting(operatorUrl, async (visit) => {
          await visit.inspect(SIGN_IN, "/", "Sign in")
          await visit.signIn(world.adminToken)
          for (const { heading, name, path } of dashboardPages) await visit.inspect(name, path(world), heading)
          await visit.page.getByRole("button", { name: "Português" }).click()
          for (const { heading, inPortuguese = heading, name, path } of dashboardPages) {
            await visit.glance(`${name}-pt`, path(world), inPortuguese)
          }
          await visit.page.getByRole("button", { name: "Sair" }).click()
          await visit.glance(`${SIGN_IN}-pt`, "/", "Entrar")
        })
      }),
    1_800_000
  )
})
