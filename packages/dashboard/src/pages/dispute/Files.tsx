/** Files of a defense: before they are sent, and as they were. */
import type { DisputeFile } from "@pix-payments/api/operator/Disputes"
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { may } from "../../app/Session.ts"
import { dataUrlOf } from "../../format/Base64.ts"
import { sizeText } from "../../format/Size.ts"
import { disputeWords } from "./disputeWords.ts"

const isPicture = (type: string): boolean => /^image\/(?:png|jpeg|gif|webp)$/.test(type)

/** Files that were chosen, each with a preview and a button that takes it out. */
export const ChosenFiles = ({
  files,
  remove
}: {
  readonly files: ReadonlyArray<File>
  readonly remove: (file: File) => void
}) =>
  files.length === 0 ? null : (
    <ul class="files">
      {files.map((file) => (
        <li key={`${file.name} ${file.size} ${file.lastModified}`}>
          <Preview of={file} />
          <span>
            <bdi>{file.name}</bdi>
            <span class="quiet under">{sizeText(file.size)}</span>
          </span>
          <button
            type="button"
            class="small"
            aria-label={`${disputeWords().remove}: ${file.name}`}
            onClick={() => remove(file)}
          >
            {disputeWords().remove}
          </button>
        </li>
      ))}
    </ul>
  )

/** A picture, read from the file: the page's policy allows no address of a blob. */
const Preview = ({ of: file }: { readonly of: File }) => {
  const url = useSignal("")
  useEffect(() => {
    if (!isPicture(file.type)) return
    dataUrlOf(file).then(
      (read) => (url.value = read),
      () => {}
    )
  }, [file])
  return url.value === "" ? <Kind of={file.name} /> : <img src={url.value} alt="" />
}

/** The end of a name, in place of a picture. */
const Kind = ({ of: name }: { readonly of: string }) => (
  <i aria-hidden="true">{(/\.(\w{1,4})$/.exec(name)?.[1] ?? "?").toUpperCase()}</i>
)

/** Files of a message. Operators open them. */
export const SentFiles = ({ of: files }: { readonly of: ReadonlyArray<DisputeFile> }) =>
  files.length === 0 ? null : (
    <ul class="files" aria-label={disputeWords().files}>
      {files.map((file) => {
        const path = `/operator/v1/dispute-files/${file.id}`
        const shown = (
          <>
            {may("operator") && isPicture(file.content_type) ? (
              <img src={path} alt="" loading="lazy" />
            ) : (
              <Kind of={file.name} />
            )}
            <span>
              <bdi>{file.name}</bdi>
              <span class="quiet under">{sizeText(file.size)}</span>
            </span>
          </>
        )
        return (
          <li key={file.id}>
            {may("operator") ? (
              <a href={path} target="_blank" rel="noreferrer">
                {shown}
              </a>
            ) : (
              shown
            )}
          </li>
        )
      })}
    </ul>
  )
