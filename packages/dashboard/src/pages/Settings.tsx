/** The settings of the installation: its name, its brakes, and whether a second operator approves. And those of this browser. */
import { call } from "../app/Client.ts"
import { installationChanged } from "../app/Installation.tsx"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { hasShortcuts, setShortcuts } from "../app/Shortcuts.ts"
import { Action } from "../parts/Action.tsx"
import { Brakes } from "../parts/Brakes.tsx"
import { Card, Facts, Resource } from "../parts/Detail.tsx"
import { inBoth, words } from "../words/Words.ts"

export const Settings = () => {
  const loaded = useLoaded("installation", (abort) => call((api) => api.installation.retrieve({}), abort))
  const { fields, form } = words()
  const text = settingsWords()
  const done = () => {
    loaded.reload()
    installationChanged()
  }
  return (
    <>
      <div class="head">
        <h1>{text.title}</h1>
      </div>
      <Resource loaded={loaded}>
        {(installation) => (
          <section class="cols">
            <Brakes
              of={installation}
              whose={text.everyAccount}
              change={(payload) => call((api) => api.installation.update({ payload }))}
              onDone={done}
            />
            <Card
              title={text.installation}
              note={
                may("admin") && (
                  <>
                    {installation.system_identifier_changed && (
                      <Action
                        label={text.confirmOutward}
                        isSmall
                        question={text.askConfirmOutward}
                        run={() => call((api) => api.installation.confirmOutward({}))}
                        onDone={done}
                      />
                    )}
                    <Action
                      label={text.rename}
                      isSmall
                      question={text.askRename}
                      fields={[{ name: "name", label: fields.name, hint: form.name }]}
                      run={({ name }) => call((api) => api.installation.update({ payload: { name: String(name) } }))}
                      onDone={done}
                    />
                  </>
                )
              }
            >
              <Facts
                of={[
                  [fields.name, installation.name],
                  [text.fourEyes, text.ways[installation.four_eyes as keyof typeof text.ways] ?? installation.four_eyes]
                ]}
              />
            </Card>
          </section>
        )}
      </Resource>
      <Card title={text.browser}>
        <div class="pad">
          <label class="inline">
            <input
              type="checkbox"
              checked={hasShortcuts.value}
              onChange={(event) => setShortcuts(event.currentTarget.checked)}
              aria-describedby="shortcuts-hint"
            />
            {text.shortcuts}
          </label>
          <p id="shortcuts-hint" class="quiet">
            {text.shortcutsHint}
          </p>
        </div>
      </Card>
    </>
  )
}

const settingsWords = inBoth({
  en: {
    title: "Settings",
    installation: "Installation",
    everyAccount: "every account",
    rename: "Rename",
    confirmOutward: "This database calls others",
    askConfirmOutward:
      "This database is a copy, or was restored. After the confirmation it orders, submits, sweeps and delivers. Make sure that no other server works with the same banks.",
    askRename: "The name tells this installation from others.",
    fourEyes: "Four eyes",
    browser: "This browser",
    shortcuts: "Keyboard shortcuts",
    shortcutsHint:
      "Single keys: / searches, j and k move between rows; on Approvals x selects, a approves and r rejects. Ctrl+K searches always.",
    ways: { auto: "on once two operators could approve", on: "on", off: "off" }
  },
  pt: {
    title: "Configurações",
    installation: "Instalação",
    everyAccount: "todas as contas",
    rename: "Renomear",
    confirmOutward: "Este banco de dados chama outros",
    askConfirmOutward:
      "Este banco de dados é uma cópia ou foi restaurado. Após a confirmação ele ordena, envia, consulta e entrega. Verifique que nenhum outro servidor trabalha com os mesmos bancos.",
    askRename: "O nome distingue esta instalação de outras.",
    fourEyes: "Dupla aprovação",
    browser: "Este navegador",
    shortcuts: "Atalhos de teclado",
    shortcutsHint:
      "Teclas únicas: / busca, j e k movem entre linhas; em Aprovações x seleciona, a aprova e r rejeita. Ctrl+K sempre busca.",
    ways: { auto: "ligada assim que dois operadores puderem aprovar", on: "ligada", off: "desligada" }
  }
})
