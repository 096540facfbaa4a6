/** The domain services on their own database, without listeners and background loops. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Acquirer, type SimulatedProvider } from "../../src/providers/Acquirer.ts"
import { SimulatorNotifications } from "../../src/reports/SimulatorNotifications.ts"
import * as Telemetry from "../../src/base/observability/Telemetry.ts"
import * as Service from "../../src/Service.ts"
import { Settings, type SettingsShape } from "../../src/base/Settings.ts"
import { DatabaseLocation } from "../../src/database/Database.ts"
import { createMigratedDatabase, rolesOf, temporaryFolder } from "./Postgres.ts"

/** `acquirer` wraps the service's. */
export const domainServicesLayer = (
  settings: Partial<SettingsShape>,
  acquirer: Layer.Layer<Acquirer, never, Acquirer | SimulatedProvider> = Layer.effect(Acquirer, Acquirer)
) => {
  const settingsLayer = Layer.effect(
    Settings,
    Effect.gen(function* () {
      return Settings.of({ ...(yield* Settings), dataDir: yield* temporaryFolder, ...settings })
    })
  ).pipe(
    Layer.provide(Settings.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { LOG_LEVEL: "error" } })))
  )
  const database = Layer.effect(
    DatabaseLocation,
    Effect.map(createMigratedDatabase, (url) => DatabaseLocation.of({ ...rolesOf(url), embeddedIn: undefined }))
  )
  return SimulatorNotifications.layer.pipe(
    Layer.provideMerge(Service.deciders),
    Layer.provideMerge(acquirer.pipe(Layer.provideMerge(Service.acquirer))),
    Layer.provideMerge(Service.storesLayer),
    Layer.provide(Telemetry.layer),
    Layer.provideMerge(Layer.merge(settingsLayer, database))
  )
}
