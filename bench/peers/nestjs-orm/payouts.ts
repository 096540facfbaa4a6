/**
 * `POST /v1/payouts` and the submission of payouts: DTO, service and controller.
 */
import { Body, Controller, Injectable, Post, Req, UseGuards, UseInterceptors } from "@nestjs/common"
import { InjectRepository } from "@nestjs/typeorm"
import { MAX_CENTS, payoutFee } from "@pix-payments/domain/Cents"
import { parseDocument } from "@pix-payments/domain/Document"
import { makeEndToEndId } from "@pix-payments/domain/EndToEndId"
import { MINIMUM_PAYOUT_CENTS } from "@pix-payments/domain/Reason"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min, MinLength } from "class-validator"
import {
  DataSource,
  type EntityManager,
  In,
  LessThanOrEqual,
  MoreThanOrEqual,
  Not,
  QueryFailedError,
  Repository
} from "typeorm"
import { nextId } from "../fastify/ids.ts"
import { seal } from "../fastify/secrets.ts"
import { isAllowedUrl } from "../fastify/webhookUrl.ts"
import { ApiKeyGuard, CurrentKey, RequireScope } from "./auth.ts"
import { ApiKey, LedgerAccount, LedgerTransfer, Payout } from "./entities.ts"
import { ApiException } from "./errors.ts"
import type { Incoming } from "./http.ts"
import { Outbox } from "./outbox.ts"
import { idempotencyKeyOf, ReplayFrom } from "./replay.ts"
import { code, IsDocument, IsPixKey, IsPixKeyDocument, IsPrintable, keyTypes } from "./validators.ts"

class CreatePayoutDto {
  @IsInt()
  @Max(MAX_CENTS)
  @Min(MINIMUM_PAYOUT_CENTS, code("AMOUNT_BELOW_MINIMUM"))
  amount!: number

  @IsIn(keyTypes) pix_key_type!: (typeof keyTypes)[number]

  @IsString()
  @IsPrintable()
  @MinLength(1)
  @MaxLength(255)
  @IsPixKey()
  @IsPixKeyDocument()
  pix_key!: string

  @IsOptional() @IsString() @IsIn(["pix"], code("METHOD_NOT_SUPPORTED")) method?: string | null

  @IsOptional() @IsString() @IsPrintable() @MinLength(1) @MaxLength(200) recipient_name?: string | null

  @IsOptional() @IsString() @IsDocument() recipient_document?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(140) description?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(255) reference?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(2048) webhook_url?: string | null

  @IsOptional() @IsString() @IsPrintable() @MaxLength(255) webhook_secret?: string | null
}

@Injectable()
export class PayoutsService {
  /** When each submitted payout settles; the acquirer is in this process. */
  private readonly settlements = new Map<string, number>()

  constructor(
    @InjectRepository(Payout) private readonly payouts: Repository<Payout>,
    private readonly dataSource: DataSource,
    private readonly outbox: Outbox
  ) {}

  async replay(applicationId: string, idempotencyKey: string) {
    const existing = await this.payouts.findOneBy({
      application_id: applicationId,
      origin: "api",
      idempotency_key: idempotencyKey
    })
    return existing === null ? undefined : toPayout(existing)
  }

  async create({ application }: ApiKey, idempotencyKey: string, dto: CreatePayoutDto) {
    const pixKey = parsePixKey(dto.pix_key_type, dto.pix_key)
    if (pixKey._tag !== "Valid") throw new Error("IsPixKey has validated the key")
    if (typeof dto.webhook_url === "string" && !(await isAllowedUrl(dto.webhook_url))) {
      throw new ApiException("INVALID_WEBHOOK_URL", ["webhook_url"])
    }
    const { account } = application
    if (account.status !== "active") throw new ApiException("ACCOUNT_INACTIVE")
    if (account.onboarding_status !== "completed") throw new ApiException("ACCOUNT_RESTRICTED")
    const { epochMs, id } = nextId()
    const fee = payoutFee(dto.amount, {
      fixed: account.payout_fee_fixed,
      basis_points: account.payout_fee_basis_points
    })
    try {
      const created = await this.dataSource.transaction(async (manager) => {
        const available = await manager.findOneOrFail(LedgerAccount, {
          where: { owner_id: account.id, kind: "available" },
          lock: { mode: "pessimistic_write" }
        })
        if (available.balance < dto.amount + fee) throw new ApiException("INSUFFICIENT_BALANCE")
        const duplicate =
          account.payout_duplicate_window === 0
            ? null
            : await manager.findOne(Payout, {
                where: {
                  account_id: account.id,
                  id: MoreThanOrEqual(lowestIdAt(epochMs - account.payout_duplicate_window * 1000)),
                  pix_key_type: dto.pix_key_type,
                  pix_key: pixKey.value,
                  amount: dto.amount,
                  status: Not(In(["failed", "canceled"]))
                },
                order: { id: "DESC" }
              })
        const isApproved = account.auto_payout_enabled && duplicate === null
        const payout = manager.create(Payout, {
          id,
          account_id: account.id,
          application_id: application.id,
          origin: "api",
          idempotency_key: idempotencyKey,
          status: isApproved ? "processing" : "pending",
          method: "pix",
          amount: dto.amount,
          fee,
          description: dto.description ?? null,
          reference: dto.reference ?? null,
          recipient_name: dto.recipient_name ?? null,
          recipient_document: dto.recipient_document ? (parseDocument(dto.recipient_document)?.value ?? null) : null,
          pix_key_type: dto.pix_key_type,
          pix_key: pixKey.value,
          webhook_url: dto.webhook_url ?? null,
          webhook_secret: dto.webhook_secret ? seal(dto.webhook_secret) : null,
          end_to_end_id: null,
          failure_reason: null,
          duplicate_of: duplicate?.id ?? null,
          processed_at: null,
          created_at: new Date(epochMs),
          sequence: 1,
          due_at: isApproved ? new Date() : null,
          attempts: 0
        })
        await manager.insert(Payout, payout)
        await this.move(manager, payout, "available", "payouts_in_transit", dto.amount + fee, "payout.created")
        const actions = isApproved ? ["created", "processing"] : ["created"]
        await this.outbox.insert(manager, "payment.pix", payout, toPayment(payout), actions)
        return payout
      })
      return toPayout(created)
    } catch (error) {
      // A concurrent request has stored a payout with the same key.
      if (!(error instanceof QueryFailedError) || error.driverError.code !== "23505") throw error
      return (await this.replay(application.id, idempotencyKey)) ?? {}
    }
  }

  /** Submits due payouts to the acquirer and settles those with an outcome. */
  async submitDue() {
    const due = await this.payouts.find({
      where: { status: "processing", due_at: LessThanOrEqual(new Date()) },
      order: { due_at: "ASC" },
      take: 100
    })
    for (const payout of due) {
      const settlesAt = this.settlements.get(payout.id)
      if (settlesAt !== undefined && payout.processed_at !== null && settlesAt <= Date.now()) {
        await this.settle(payout)
        this.settlements.delete(payout.id)
        continue
      }
      if (settlesAt === undefined) this.settlements.set(payout.id, Date.now() + SETTLE_MS)
      await this.payouts.update(
        { id: payout.id, status: "processing" },
        {
          processed_at: payout.processed_at ?? new Date(),
          attempts: payout.attempts + 1,
          due_at: new Date(Date.now() + Math.min(1000 * 2 ** payout.attempts, 60_000))
        }
      )
    }
  }

  private settle(payout: Payout) {
    const fails = payout.pix_key === "fail@simulator.test"
    return this.dataSource.transaction(async (manager) => {
      const outcome = {
        status: fails ? "failed" : "completed",
        end_to_end_id: fails ? null : endToEndId(payout.id),
        failure_reason: fails ? "simulated failure" : null,
        sequence: payout.sequence + 1,
        due_at: null
      }
      const { affected } = await manager.update(Payout, { id: payout.id, status: "processing" }, outcome)
      if (affected !== 1) return
      const settled = manager.create(Payout, { ...payout, ...outcome })
      // Every transaction locks ledger accounts in the same order.
      if (fails) {
        await this.move(
          manager,
          settled,
          "payouts_in_transit",
          "available",
          payout.amount + payout.fee,
          "payout.failed"
        )
      } else {
        await this.move(manager, settled, "payouts_in_transit", "acquirer", payout.amount, "payout.completed")
        await this.move(manager, settled, "payouts_in_transit", "fees", payout.fee, "payout.completed")
      }
      const action = settled.status
      await this.outbox.insert(manager, "payment.pix", settled, toPayment(settled), [action], fails ? [action] : [])
    })
  }

  private async move(
    manager: EntityManager,
    payout: Payout,
    debit: string,
    credit: string,
    amount: number,
    reason: string
  ) {
    if (amount === 0) return
    const { epochMs, id } = nextId()
    await manager.insert(LedgerTransfer, {
      id,
      account_id: payout.account_id,
      debit,
      credit,
      amount,
      resource_id: payout.id,
      reason,
      created_at: new Date(epochMs)
    })
    const entries = [
      { kind: credit, cents: amount },
      { kind: debit, cents: -amount }
    ]
    for (const { cents, kind } of entries) {
      await manager.increment(LedgerAccount, { owner_id: payout.account_id, kind }, "balance", cents)
    }
  }
}

@Controller("v1/payouts")
@UseGuards(ApiKeyGuard)
export class PayoutsController {
  constructor(private readonly payouts: PayoutsService) {}

  @Post()
  @RequireScope("payout:write")
  @UseInterceptors(ReplayFrom(PayoutsService))
  create(@CurrentKey() key: ApiKey, @Req() request: Incoming, @Body() dto: CreatePayoutDto) {
    return this.payouts.create(key, idempotencyKeyOf(request), dto)
  }
}

const SETTLE_MS = Number(process.env["SIMULATOR_SETTLE_MS"] ?? 1000)

const toPayout = (payout: Payout) => ({
  id: payout.id,
  object: "payout",
  status: payout.status,
  method: payout.method,
  amount: payout.amount,
  fee: payout.fee,
  currency: "BRL",
  description: payout.description,
  reference: payout.reference,
  recipient: {
    name: payout.recipient_name,
    document: payout.recipient_document,
    pix_key_type: payout.pix_key_type,
    pix_key: payout.pix_key
  },
  end_to_end_id: payout.end_to_end_id,
  failure_reason: payout.failure_reason,
  webhook_url: payout.webhook_url,
  processed_at: payout.processed_at,
  created_at: payout.created_at,
  sequence: payout.sequence
})

const toPayment = (payout: Payout) => ({ ...toPayout(payout), object: "payment" })

/** Derived from the id, so that a retry gives the same value. */
const endToEndId = (id: string): string => {
  const digits = id.replaceAll("-", "")
  return makeEndToEndId({
    ispb: "00000000",
    atMs: Number.parseInt(digits.slice(0, 12), 16),
    suffix: digits.slice(-11)
  })
}
