/**
 * Idempotency keys: a used key is answered with its resource, whatever the body.
 */
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  mixin,
  type NestInterceptor,
  type Type
} from "@nestjs/common"
import { from, type Observable, of, switchMap } from "rxjs"
import { ApiException } from "./errors.ts"
import type { ApiKey } from "./entities.ts"
import type { Incoming, Reply } from "./http.ts"

/** A service that finds a resource by its idempotency key. */
interface Replayable {
  readonly replay: (applicationId: string, idempotencyKey: string) => Promise<object | undefined>
}

export const idempotencyKeyOf = ({ headers }: Incoming): string => {
  const key = headers["idempotency-key"]
  if (key === undefined || key === "") throw new ApiException("IDEMPOTENCY_KEY_REQUIRED")
  if (typeof key !== "string" || !/^[!-~]{8,255}$/.test(key)) {
    throw new ApiException("VALIDATION_ERROR", ["Idempotency-Key"])
  }
  return key
}

/** An interceptor that answers replays from `service`. It runs before the body is validated. */
export const ReplayFrom = (service: Type<Replayable>): Type<NestInterceptor> => {
  @Injectable()
  class ReplayInterceptor implements NestInterceptor {
    constructor(readonly resources: Replayable) {}

    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const request = context.switchToHttp().getRequest<Incoming & { readonly key: ApiKey }>()
      const key = idempotencyKeyOf(request)
      return from(this.resources.replay(request.key.application_id, key)).pipe(
        switchMap((existing) => {
          if (existing === undefined) return next.handle()
          context.switchToHttp().getResponse<Reply>().setHeader("idempotent-replayed", "true")
          return of(existing)
        })
      )
    }
  }
  Reflect.defineMetadata("design:paramtypes", [service], ReplayInterceptor)
  return mixin(ReplayInterceptor)
}
