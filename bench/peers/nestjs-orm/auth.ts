/**
 * API keys: a guard that looks the key up for every request and checks the scope of the handler.
 */
import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable, SetMetadata } from "@nestjs/common"
import { Reflector } from "@nestjs/core"
import { InjectRepository } from "@nestjs/typeorm"
import { Repository } from "typeorm"
import { hashOf } from "../fastify/secrets.ts"
import { ApiKey } from "./entities.ts"
import { ApiException } from "./errors.ts"
import type { Incoming } from "./http.ts"

const SCOPE = "scope"

export const RequireScope = (scope: string) => SetMetadata(SCOPE, scope)

/** The key of the request, with its application and account. */
export const CurrentKey = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const { key } = context.switchToHttp().getRequest<Incoming>()
  if (key === undefined) throw new Error("ApiKeyGuard has not run")
  return key
})

@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly reflector: Reflector
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Incoming>()
    const sent = request.headers["x-api-key"]
    if (typeof sent !== "string" || sent === "" || sent.length > 512) throw new ApiException("UNAUTHORIZED")
    const key = await this.keys.findOne({
      where: { hash: hashOf(sent) },
      relations: { application: { account: true } }
    })
    const isAccepted =
      key !== null &&
      key.revoked_at === null &&
      (key.expires_at === null || key.expires_at.getTime() > Date.now()) &&
      key.application.active
    if (!isAccepted) throw new ApiException("UNAUTHORIZED")
    request.key = key
    const scope = this.reflector.get<string>(SCOPE, context.getHandler())
    if (!key.scopes.includes(scope)) throw new ApiException("INSUFFICIENT_SCOPE", [scope])
    return true
  }
}
