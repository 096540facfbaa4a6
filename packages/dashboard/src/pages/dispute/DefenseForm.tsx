/**
 * The defense of an open dispute, beside what it is about: evidence as the reason of the dispute asks for it, and files.
 *
 * Guarantees:
 * - What is written and chosen survives a reload, until it is filed or thrown away.
 * - Data that arrives changes none of it. A defense that is too long, or has files that it cannot have, is not sent.
 */
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { call, FAILED_PAGE, type Problem } from "../../app/Client.ts"
import { base64Of } from "../../format/Base64.ts"
import { money } from "../../format/Money.ts"
import { Card } from "../../parts/Detail.tsx"
import { textOf } from "../../parts/Problem.tsx"
import { now } from "../../parts/Time.tsx"
import { words } from "../../words/Words.ts"
import { forgetDraft, keep, readDraft, type Texts } from "./Draft.ts"
import { disputeWords, type Evidence, evidenceFor } from "./disputeWords.ts"
import { ChosenFiles } from "./Files.tsx"

const MAX_FILES = 5
const MAX_FILE_BYTES = 5 * 1024 * 1024
const MAX_TEXT = 4000

const fits = (file: File): boolean => file.size > 0 && file.size <= MAX_FILE_BYTES

/** The text of a defense: each piece of evidence below its title; one piece alone has none. */
const composed = (texts: Texts, asked: ReadonlyArray<Evidence>): string => {
  const titles = disputeWords().evidence
  const written = asked.flatMap((name) => {
    const text = texts[name]?.trim() ?? ""
    return text === "" ? [] : [{ title: titles[name].label, text }]
  })
  return written.length === 1 && texts["other"]?.trim() === written[0]!.text
    ? written[0]!.text
    : written.map(({ text, title }) => `${title}:\n${text}`).join("\n\n")
}

const file = async (id: string, text: string, files: ReadonlyArray<File>) => {
  const contents = await Promise.all(
    files.map(async (each) => ({
      name: each.name,
      content_type: each.type === "" ? "application/octet-stream" : each.type,
      content: await base64Of(each)
    }))
  )
  return call((api) =>
    api.disputeActions.defense({ params: { id }, payload: { text, ...(contents.length > 0 && { files: contents }) } })
  )
}

export const DefenseForm = ({
  dispute: { amount, id, reason },
  onFiled
}: {
  readonly dispute: OperatorDispute
  readonly onFiled: () => void
}) => {
  const texts = useSignal<Texts>({})
  const files = useSignal<ReadonlyArray<File>>([])
  const isKept = useSignal(true)
  const isRead = useSignal(false)
  const isBusy = useSignal(false)
  const problem = useSignal<Problem | undefined>(undefined)
  const writing = useRef<Promise<unknown>>(Promise.resolve())
  const { actions, ask } = words()
  const own = disputeWords()
  const asked = evidenceFor(reason)
  const text = composed(texts.value, asked)
  const badFile = files.value.find((each) => !fits(each))
  const isTooLong = text.length > MAX_TEXT

  useEffect(() => {
    void readDraft(id, now.peek()).then((draft) => {
      isKept.value = draft.isKept
      // What was written before the draft was read stays.
      texts.value = { ...draft.texts, ...texts.value }
      if (files.value.length === 0) files.value = draft.files
      isRead.value = true
    })
  }, [id])

  /** Writes are in turn, so that the last one stays. */
  const keepPart = (part: "texts" | "files") => {
    writing.current = writing.current.then(async () => {
      isKept.value = await keep(id, part, part === "texts" ? texts.value : files.value)
    })
  }
  const write = (name: Evidence, value: string) => {
    texts.value = { ...texts.value, [name]: value }
    keepPart("texts")
  }
  const choose = (chosen: ReadonlyArray<File>) => {
    files.value = chosen.slice(0, MAX_FILES)
    problem.value =
      chosen.length > MAX_FILES ? { code: "INCOMPLETE", message: own.tooManyFiles, details: [] } : undefined
    keepPart("files")
  }
  const discard = async () => {
    await writing.current
    await forgetDraft(id)
    texts.value = {}
    files.value = []
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value || text === "" || isTooLong || badFile !== undefined) return
    isBusy.value = true
    const outcome = await file(id, text, files.value).catch(() => ({ _tag: "Failed", problem: FAILED_PAGE }) as const)
    isBusy.value = false
    if (outcome._tag === "Failed") {
      problem.value = outcome.problem
      return
    }
    await discard()
    onFiled()
  }

  return (
    <Card title={own.defense} note={isRead.value && !isKept.value ? own.notKept : own.kept}>
      <form class="defense pad" onSubmit={submit}>
        <p class="quiet">{ask.defend(money(amount))}</p>
        {asked.map((name) => {
          const { hint, label } = own.evidence[name]
          return (
            <div class="field" key={name}>
              <label for={`evidence-${name}`}>{label}</label>
              <textarea
                id={`evidence-${name}`}
                aria-describedby={`evidence-${name}-hint`}
                rows={name === "other" ? 2 : 3}
                value={texts.value[name] ?? ""}
                onInput={(event) => write(name, event.currentTarget.value)}
              />
              <span id={`evidence-${name}-hint`} class="quiet hint">
                {hint}
              </span>
            </div>
          )
        })}
        <div class="field">
          <label for="evidence-files">{own.files}</label>
          <input
            id="evidence-files"
            type="file"
            multiple
            aria-describedby="evidence-files-hint"
            onChange={(event) => {
              choose([...files.value, ...(event.currentTarget.files ?? [])])
              // The same file can be chosen again after it was taken out.
              event.currentTarget.value = ""
            }}
          />
          <span id="evidence-files-hint" class={badFile === undefined ? "quiet hint" : "wrong"}>
            {badFile === undefined ? own.filesHint : own.badFile(badFile.name)}
          </span>
          <ChosenFiles files={files.value} remove={(gone) => choose(files.value.filter((each) => each !== gone))} />
        </div>
        {problem.value !== undefined && (
          <p class="wrong" role="alert">
            {textOf(problem.value)}
          </p>
        )}
        <div class="head">
          <button
            type="submit"
            class="first"
            disabled={isBusy.value || text === "" || isTooLong || badFile !== undefined}
          >
            {actions.defend}
          </button>
          {(text !== "" || files.value.length > 0) && (
            <button type="button" disabled={isBusy.value} onClick={() => void discard()}>
              {own.discard}
            </button>
          )}
          <span class="grow" />
          <span class={isTooLong ? "wrong" : "quiet hint"}>{own.length(text.length, MAX_TEXT)}</span>
        </div>
      </form>
    </Card>
  )
}
