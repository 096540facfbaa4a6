/** Resources as operators see them, and an account that they may open. */

export interface Account {
  readonly id: string
  readonly created_at: string
}

export interface Key {
  readonly id: string
  readonly key: string
  readonly prefix: string
  readonly created_at: string
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

export interface List<A> {
  readonly object: string
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

export const someAccount = {
  name: "Padaria",
  legal_name: "Padaria do Zé Ltda",
  document: "11.222.333/0001-81",
  phone: "+5511999998888"
}
