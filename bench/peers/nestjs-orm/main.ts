/**
 * Charges and payouts on NestJS, Express, class-validator and TypeORM: controllers, services, guards, interceptors,
 * DTOs, repositories and transactions.
 *
 * Guarantees, as the contract asks:
 * - the API key is looked up with its application and account for every request;
 * - a replay is answered before the body is validated;
 * - every request is in the request log, whose rows are inserted in batches.
 *
 * `tsc` compiles it, because Node does not run decorators (see `tsconfig.json`).
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (20).
 */
import "reflect-metadata"
import {
  Controller,
  Get,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown
} from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { NestExpressApplication } from "@nestjs/platform-express"
import { TypeOrmModule } from "@nestjs/typeorm"
import { DataSource } from "typeorm"
import { ApiKeyGuard } from "./auth.ts"
import { ChargesController, ChargesService } from "./charges.ts"
import { entities } from "./entities.ts"
import { ApiExceptionFilter, BodyPipe, validationException } from "./errors.ts"
import { Outbox } from "./outbox.ts"
import { PayoutsController, PayoutsService } from "./payouts.ts"
import { RequestLog, RequestLogMiddleware } from "./requests.ts"

@Controller("health")
class HealthController {
  constructor(private readonly dataSource: DataSource) {}

  @Get("ready")
  async ready() {
    await this.dataSource.query("SELECT 1")
    return { status: "ok" }
  }
}

/** Recovers charges and submits payouts. */
@Injectable()
class BackgroundLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly timers = new Set<NodeJS.Timeout>()
  private stopped = false

  constructor(
    private readonly charges: ChargesService,
    private readonly payouts: PayoutsService
  ) {}

  onApplicationBootstrap() {
    this.every(1000, () => this.charges.recoverDue())
    this.every(100, () => this.payouts.submitDue())
  }

  onApplicationShutdown() {
    this.stopped = true
    for (const timer of this.timers) clearTimeout(timer)
  }

  private every(pauseMs: number, round: () => Promise<void>) {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      void round()
        .catch(() => {})
        .finally(() => {
          if (!this.stopped) this.every(pauseMs, round)
        })
    }, pauseMs)
    this.timers.add(timer)
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: "postgres",
      url: process.env["DATABASE_URL"] ?? "",
      entities,
      poolSize: Number(process.env["DATABASE_CONNECTIONS"] ?? 20),
      extra: {
        statement_timeout: 5000,
        lock_timeout: 5000,
        // The planner settings of our server: a statement prepared on an empty table must not keep a sequential scan.
        options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
      }
    }),
    TypeOrmModule.forFeature(entities)
  ],
  controllers: [HealthController, ChargesController, PayoutsController],
  providers: [ApiKeyGuard, Outbox, RequestLog, RequestLogMiddleware, ChargesService, PayoutsService, BackgroundLoops]
})
// oxlint-disable-next-line typescript/no-extraneous-class -- a Nest module is a class with a decorator
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false, bodyParser: false })
const log = app.get(RequestLogMiddleware)
app.use(log.use.bind(log))
app.useBodyParser("json", { limit: 256 * 1024 })
app.useGlobalPipes(new BodyPipe({ transform: true, exceptionFactory: validationException }))
app.useGlobalFilters(new ApiExceptionFilter())
app.enableShutdownHooks()
await app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1")
