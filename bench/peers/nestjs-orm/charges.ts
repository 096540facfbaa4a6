/**
 * `/v1/charges`: DTOs, service and controller.
 */
import { Body, Controller, Get, Injectable, Param, Post, Query, Req, UseGuards, UseInterceptors } from "@nestjs/common"
import { InjectRepository } from "@nestjs/typeorm"
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { MINIMUM_CHARGE_CENTS } from "@pix-payments/domain/Reason"
import { parseDocument } from "@pix-payments/domain/Document"
import { parseInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid, lowestIdAt } from "@pix-payments/domain/Uuid"
import { Type } from "class-transformer"
import {
  IsDefined,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateNested
} from "class-validator"
import * as Result from "effect/Result"
import { DataSource, LessThanOrEqual, QueryFailedError, Repository } from "typeorm"
import { nextId } from "../fastify/ids.ts"
import { seal } from "../fastify/secrets.ts"
import { isAllowedUrl } from "../fastify/webhookUrl.ts"
import { ApiKeyGuard, CurrentKey, RequireScope } from "./auth.ts"
import { Account, ApiKey, Charge } from "./entities.ts"
import { ApiException } from "./errors.ts"
import type { Incoming } from "./http.ts"
import { Outbox } from "./outbox.ts"
import { idempotencyKeyOf, ReplayFrom } from "./replay.ts"
import { code, IsDocument, IsId, IsInstant, IsPrintable } from "./validators.ts"

class CustomerDto {
  @IsString() @IsPrintable() @MinLength(1) @MaxLength(200) name!: string

  @IsString()
  @IsPrintable()
  @MaxLength(254)
  @Matches(
    /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$/
  )
  email!: string

  @IsString() @IsDocument() document!: string

  @IsOptional() @IsString() @IsPrintable() @MaxLength(32) phone?: string | null
}

class CreateChargeDto {
  @IsInt()
  @Max(MAX_CENTS)
  @Min(MINIMUM_CHARGE_CENTS, code("AMOUNT_BELOW_MINIMUM"))
  amount!: number

  @IsOptional() @IsString() @IsIn(["pix"], code("METHOD_NOT_SUPPORTED")) method?: string | null

  @IsDefined({ context: { fields: ["name", "email", "document"] } })
  @IsObject()
  @ValidateNested()
  @Type(() => CustomerDto)
  customer!: CustomerDto

  @IsOptional() @IsString() @IsPrintable() @MaxLength(140) description?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(255) reference?: string | null

  @IsOptional() @IsInt() @Min(60) @Max(604_800) expires_in?: number | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(2048) webhook_url?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(255) webhook_secret?: string | null
}

class ListChargesDto {
  @Type(() => Number) @IsInt() @Min(1) @Max(100) limit: number = 20

  @IsOptional() @IsId() starting_after?: string

  @IsOptional() @IsIn(ChargeStatus.literals) status?: string

  @IsOptional() @IsIn(ChargeMethod.literals) method?: string

  @IsOptional() @IsInstant() created_after?: string

  @IsOptional() @IsInstant() created_before?: string
}

@Injectable()
export class ChargesService {
  constructor(
    @InjectRepository(Charge) private readonly charges: Repository<Charge>,
    @InjectRepository(Account) private readonly accounts: Repository<Account>,
    private readonly dataSource: DataSource,
    private readonly outbox: Outbox
  ) {}

  async replay(applicationId: string, idempotencyKey: string) {
    const existing = await this.charges.findOneBy({
      application_id: applicationId,
      origin: "api",
      idempotency_key: idempotencyKey
    })
    return existing === null ? undefined : toCharge(existing)
  }

  async create({ application }: ApiKey, idempotencyKey: string, dto: CreateChargeDto) {
    if (typeof dto.webhook_url === "string" && !(await isAllowedUrl(dto.webhook_url))) {
      throw new ApiException("INVALID_WEBHOOK_URL", ["webhook_url"])
    }
    const { account } = application
    if (account.status !== "active") throw new ApiException("ACCOUNT_INACTIVE")
    const { epochMs, id } = nextId()
    const charge = this.charges.create({
      id,
      account_id: account.id,
      application_id: application.id,
      origin: "api",
      idempotency_key: idempotencyKey,
      status: "processing",
      method: "pix",
      amount: dto.amount,
      description: dto.description ?? null,
      reference: dto.reference ?? null,
      customer_name: dto.customer.name,
      customer_email: dto.customer.email,
      customer_document: parseDocument(dto.customer.document)?.value ?? null,
      customer_phone: dto.customer.phone ?? null,
      webhook_url: dto.webhook_url ?? null,
      webhook_secret: dto.webhook_secret ? seal(dto.webhook_secret) : null,
      br_code: null,
      end_to_end_id: null,
      receiver: null,
      expires_at: new Date(epochMs + (dto.expires_in ?? account.default_expires_in) * 1000),
      paid_at: null,
      failure_reason: null,
      created_at: new Date(epochMs),
      sequence: 1,
      recover_at: new Date(epochMs + 6000)
    })
    try {
      await this.charges.insert(charge)
    } catch (error) {
      // A concurrent request has stored a charge with the same key.
      if (!(error instanceof QueryFailedError) || error.driverError.code !== "23505") throw error
      return (await this.replay(application.id, idempotencyKey)) ?? {}
    }
    return toCharge(await this.emit(charge, account))
  }

  async get(accountId: string, id: string) {
    const charge = isUuid(id) ? await this.charges.findOneBy({ id, account_id: accountId, origin: "api" }) : null
    if (charge === null) throw new ApiException("CHARGE_NOT_FOUND")
    return toCharge(charge)
  }

  async list(accountId: string, query: ListChargesDto) {
    const page = this.charges
      .createQueryBuilder("charge")
      .where("charge.account_id = :accountId AND charge.origin = 'api'", { accountId })
    if (query.starting_after !== undefined) {
      const cursor = { id: query.starting_after, account_id: accountId, origin: "api" }
      if (!(await this.charges.existsBy(cursor))) throw new ApiException("VALIDATION_ERROR", ["starting_after"])
      page.andWhere("charge.id < :after", { after: query.starting_after })
    }
    const now = new Date()
    if (query.status === "expired") {
      page.andWhere("charge.status = 'pending' AND charge.expires_at <= :now", { now })
    } else if (query.status === "pending") {
      page.andWhere("charge.status = 'pending' AND (charge.expires_at IS NULL OR charge.expires_at > :now)", { now })
    } else if (query.status !== undefined) {
      page.andWhere("charge.status = :status", { status: query.status })
    }
    if (query.method !== undefined) page.andWhere("charge.method = :method", { method: query.method })
    if (query.created_after !== undefined) {
      page.andWhere("charge.id >= :from", { from: lowestIdAt(Math.floor(parseInstant(query.created_after)!) + 1) })
    }
    if (query.created_before !== undefined) {
      page.andWhere("charge.id < :to", { to: lowestIdAt(Math.ceil(parseInstant(query.created_before)!)) })
    }
    const found = await page
      .orderBy("charge.id", "DESC")
      .take(query.limit + 1)
      .getMany()
    return {
      object: "list",
      data: found.slice(0, query.limit).map(toCharge),
      has_more: found.length > query.limit
    }
  }

  /** Emits charges that are due for recovery. */
  async recoverDue() {
    const due = await this.charges.find({
      where: { status: "processing", recover_at: LessThanOrEqual(new Date()) },
      take: 50
    })
    for (const charge of due) {
      await this.emit(charge, await this.accounts.findOneByOrFail({ id: charge.account_id }))
    }
  }

  /** Calls the acquirer, which is in this process and never fails, and stores its answer in one transaction. */
  private emit(charge: Charge, merchant: Account): Promise<Charge> {
    const { brCode, receiver } = emitPix(charge, merchant)
    return this.dataSource.transaction(async (manager) => {
      const changes = { status: "pending", br_code: brCode, receiver, sequence: charge.sequence + 1, recover_at: null }
      const { affected } = await manager.update(Charge, { id: charge.id, status: "processing" }, changes)
      if (affected !== 1) return manager.findOneByOrFail(Charge, { id: charge.id })
      const emitted = manager.create(Charge, { ...charge, ...changes })
      await this.outbox.insert(manager, "charge.pix", emitted, toCharge(emitted), ["created", "emitted"])
      return emitted
    })
  }
}

@Controller("v1/charges")
@UseGuards(ApiKeyGuard)
export class ChargesController {
  constructor(private readonly charges: ChargesService) {}

  @Post()
  @RequireScope("charge:write")
  @UseInterceptors(ReplayFrom(ChargesService))
  create(@CurrentKey() key: ApiKey, @Req() request: Incoming, @Body() dto: CreateChargeDto) {
    return this.charges.create(key, idempotencyKeyOf(request), dto)
  }

  @Get(":id")
  @RequireScope("charge:read")
  get(@CurrentKey() key: ApiKey, @Param("id") id: string) {
    return this.charges.get(key.application.account_id, id)
  }

  @Get()
  @RequireScope("charge:read")
  list(@CurrentKey() key: ApiKey, @Query() query: ListChargesDto) {
    return this.charges.list(key.application.account_id, query)
  }
}

const toCharge = (charge: Charge) => ({
  id: charge.id,
  object: "charge",
  status:
    charge.status === "pending" && charge.expires_at !== null && charge.expires_at.getTime() <= Date.now()
      ? "expired"
      : charge.status,
  amount: charge.amount,
  currency: "BRL",
  method: charge.method,
  description: charge.description,
  reference: charge.reference,
  customer:
    charge.customer_name === null
      ? null
      : { name: charge.customer_name, email: charge.customer_email, document: charge.customer_document },
  pix: { br_code: charge.br_code, end_to_end_id: charge.end_to_end_id },
  receiver: charge.receiver,
  webhook_url: charge.webhook_url,
  expires_at: charge.expires_at,
  paid_at: charge.paid_at,
  refunded_amount: 0,
  failure_reason: charge.failure_reason,
  created_at: charge.created_at,
  sequence: charge.sequence
})

const emitPix = (charge: Charge, merchant: Account) => {
  const brCode = buildBrCode({
    payloadUrl: `pix.simulator.test/qr/v2/${txidFromId(charge.id)}`,
    amount: charge.amount,
    merchantName: merchant.name,
    merchantCity: "SAO PAULO",
    singleUse: true
  })
  if (Result.isFailure(brCode)) throw new Error(`BR code: ${brCode.failure.reason}`)
  return {
    brCode: brCode.success,
    receiver: {
      name: merchant.name,
      document: merchant.document,
      pix_key: merchant.document,
      pix_key_type: merchant.document.length === 11 ? "cpf" : "cnpj",
      institution_name: "Simulated Acquirer",
      institution_ispb: "00000000",
      branch: "0001",
      account: "1",
      account_type: "payment"
    }
  }
}
