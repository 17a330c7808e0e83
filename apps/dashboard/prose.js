// Text by iteration. Markup comes escaped from Python (prose.py); pieces that stand are left alone.
export function render({ model, el }) {
  const view = Object.assign(document.createElement("div"), { className: "pk-view" })
  const text = Object.assign(document.createElement("div"), { className: "pk-text", tabIndex: 0 })
  const empty = Object.assign(document.createElement("p"), { className: "pk-empty", textContent: "The text appears here, token by token." })
  text.setAttribute("role", "region")
  text.setAttribute("aria-label", "Text so far, by who proposed it")
  view.append(empty, text)
  el.append(view)
  let shown = [], run = model.run

  function paint() {
    view.dataset.pkTheme = model.theme
    const follows = text.scrollTop + text.clientHeight >= text.scrollHeight - 40
    const pieces = model.pieces
    if (model.run !== run || pieces.length < shown.length) {
      text.replaceChildren()
      shown = []
      run = model.run
    }
    for (const piece of pieces.slice(shown.length)) {
      const part = document.createElement("template")
      part.innerHTML = piece
      text.append(part.content)
    }
    shown = pieces
    empty.hidden = pieces.length > 0
    if (follows) text.scrollTop = text.scrollHeight
  }

  for (const name of ["pieces", "run", "theme"]) model.on(name, paint)
  paint()
}
