// Text by iteration. Markup comes escaped from Python (prose.py), and only what is new.
export function render({ model, el }) {
  const view = Object.assign(document.createElement("div"), { className: "pk-view" })
  const text = Object.assign(document.createElement("div"), { className: "pk-text", tabIndex: 0 })
  const empty = Object.assign(document.createElement("p"), {
    className: "pk-empty",
    textContent: "The text appears here, token by token.",
  })
  const key = Object.assign(document.createElement("div"), { className: "pk-legend" })
  text.setAttribute("role", "region")
  text.setAttribute("aria-label", "Text so far, by who proposed it")
  view.append(key, empty, text)
  el.append(view)
  let shown = 0
  let run = -1

  function paint() {
    const { run: now, first, pieces } = model.part
    if (now !== run || first === 0) {
      text.replaceChildren()
      shown = 0
      run = now
    }
    if (first > shown) {
      model.asked += 1 // something is missing here: a page that opens in the middle of a run
      return
    }
    const follows = text.scrollTop + text.clientHeight >= text.scrollHeight - 40
    for (const piece of pieces.slice(shown - first)) {
      const part = document.createElement("template")
      part.innerHTML = piece
      text.append(part.content)
      shown += 1
    }
    empty.hidden = shown > 0
    if (follows) text.scrollTop = text.scrollHeight
  }

  const theme = () => { view.dataset.pkTheme = model.theme }
  const explain = () => { key.innerHTML = model.key; key.hidden = !model.key }
  model.on("part", paint)
  model.on("key", explain)
  model.on("theme", theme)
  theme()
  explain()
  paint()
}
