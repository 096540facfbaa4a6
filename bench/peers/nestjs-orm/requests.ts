/**
 * The request log: a row for every request, inserted in batches four times a second.
 */
import { Injectable, type NestMiddleware, type OnApplicationShutdown } from "@nestjs/common"
import { InjectRepository } from "@nestjs/typeorm"
import { randomUUID } from "node:crypto"
import { Repository } from "typeorm"
import { nextId } from "../fastify/ids.ts"
import { ApiKey, RequestLogRow } from "./entities.ts"
import type { Incoming, Reply } from "./http.ts"

@Injectable()
export class RequestLog implements OnApplicationShutdown {
  private pending: Array<RequestLogRow> = []
  private readonly timer = setInterval(() => void this.flush().catch(() => {}), 250)

  constructor(
    @InjectRepository(RequestLogRow) private readonly requests: Repository<RequestLogRow>,
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>
  ) {}

  append(row: RequestLogRow) {
    this.pending.push(row)
  }

  async onApplicationShutdown() {
    clearInterval(this.timer)
    await this.flush()
  }

  private async flush() {
    const batch = this.pending.splice(0, 1000)
    if (batch.length === 0) return
    try {
      await this.requests.insert(batch)
    } catch (error) {
      this.pending.unshift(...batch)
      throw error
    }
    const used = new Map(batch.flatMap(({ at, key_id }) => (key_id === null ? [] : [[key_id, at] as const])))
    for (const [id, at] of used) await this.keys.update({ id }, { last_used_at: at })
    await this.flush()
  }
}

@Injectable()
export class RequestLogMiddleware implements NestMiddleware {
  constructor(private readonly log: RequestLog) {}

  use(request: Incoming, reply: Reply, next: () => void) {
    const startedAt = performance.now()
    const sent = request.headers["x-request-id"]
    request.requestId =
      typeof sent === "string" && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(sent) ? sent : randomUUID()
    reply.setHeader("x-request-id", request.requestId)
    if (request.originalUrl.startsWith("/v1/")) {
      reply.on("finish", () => {
        const { epochMs, id } = nextId()
        this.log.append({
          id,
          request_id: request.requestId,
          key_id: request.key?.id ?? null,
          account_id: request.key?.application.account_id ?? null,
          route: `${request.method} ${request.route?.path ?? "unknown"}`,
          status: reply.statusCode,
          duration_us: Math.round((performance.now() - startedAt) * 1000),
          at: new Date(epochMs)
        })
      })
    }
    next()
  }
}
