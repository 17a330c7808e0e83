// The card of the tour: the keyboard stays in it until it is left, and is then where it was before.
const KEY = "phrasekit-tour"

function been() {
  try { return localStorage.getItem(KEY) !== null } catch { return true }
}

function remember() {
  try { localStorage.setItem(KEY, "seen") } catch { /* asked again next time */ }
}

function focused() {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at
}

export function render({ model, el }) {
  const make = (name, more, ...parts) => {
    const made = Object.assign(document.createElement(name), more)
    made.append(...parts)
    return made
  }
  const button = (label, act, className = "") => {
    const made = make("button", { type: "button", className, textContent: label })
    made.addEventListener("click", act)
    return made
  }
  const heading = make("h2", { id: "title" }), words = make("p", {})
  const back = button("Back", () => go(model.at - 1))
  const next = button("Next", () => go(model.at + 1))
  const close = button("Close the tour", () => go(-1), "text")
  const card = make("section", { hidden: true }, make("div", {}, heading, words), make("div", { className: "row" }, next, back, close))
  card.setAttribute("role", "dialog")
  card.setAttribute("aria-labelledby", "title")
  heading.parentElement.setAttribute("aria-live", "polite")
  let before = null

  function go(to) {
    model.at = to < model.steps.length ? to : -1
  }

  function paint() {
    const open = model.at >= 0, opened = open && card.hidden, closed = !open && !card.hidden
    card.hidden = !open
    if (closed) {
      remember()
      if (before?.isConnected) before.focus()
    }
    if (!open) return
    const step = model.steps[model.at]
    heading.textContent = `${model.at + 1} of ${model.steps.length}: ${step.title}`
    words.textContent = step.words
    next.textContent = model.at + 1 < model.steps.length ? "Next" : "Done"
    back.hidden = model.at === 0
    if (opened) {
      before = focused()
      next.focus()
    } else if (focused() === back && back.hidden) next.focus()
  }

  function stay(event) {
    const stops = [next, back, close].filter((one) => !one.hidden)
    const at = stops.indexOf(focused())
    if (event.key !== "Tab" || at < 0) return
    event.preventDefault()
    stops[(at + (event.shiftKey ? stops.length - 1 : 1)) % stops.length].focus()
  }

  function leave(event) {
    if (event.key === "Escape" && !event.defaultPrevented && model.at >= 0) go(-1)
  }

  card.addEventListener("keydown", stay)
  document.addEventListener("keydown", leave)
  model.on("at", paint)
  el.style.width = "100%"
  el.append(card)
  paint()
  model.first = !been()
  return () => document.removeEventListener("keydown", leave)
}
