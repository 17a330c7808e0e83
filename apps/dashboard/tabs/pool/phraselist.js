// Phrases to walk through. Markup comes escaped from Python (phraselist.py, phrasepanel.py); here it is put
// in place, so that what a reader holds on to stays: the row or part in focus, what is scrolled, the page.
const NARROW = 1100 // pixels of the window; below, the panel opens under its row
const PARTS = "button, summary, a, [tabindex]"

function make(tag, cls, ...children) {
  const el = Object.assign(document.createElement(tag), { className: cls })
  el.append(...children)
  return el
}

export function render({ model, el }) {
  const head = make("thead", "")
  const body = make("tbody", "")
  const table = make("table", "", head, body)
  table.setAttribute("role", "grid")
  table.setAttribute("aria-label", "Phrases")
  const foot = make("p", "foot")
  const panel = make("section", "panel")
  panel.setAttribute("aria-label", "Selected phrase")
  const side = make("div", "side", panel)
  const under = make("tr", "under", make("td", ""))
  const view = make("div", "pk-view", make("div", "list", table, foot), side)
  el.append(view)
  let asked = 0

  const rows = () => [...body.querySelectorAll("tr[data-id]")]
  const focused = () => el.getRootNode().activeElement

  /** What a reader holds on to, as a function that gives it back. */
  function hold() {
    const at = focused()
    const id = at?.closest?.("tr[data-id]")?.dataset.id
    const around = [panel, foot].find((one) => one.contains(at))
    const part = around ? [...around.querySelectorAll(PARTS)].indexOf(at) : -1
    return () => {
      const again = id !== undefined ? rows().find((row) => row.dataset.id === id) : around?.querySelectorAll(PARTS)[part]
      if (again && again !== focused()) again.focus({ preventScroll: true })
    }
  }

  /** One row can be reached by Tab: the one in focus, else the chosen one, else the first. */
  function mark(chosen) {
    const every = rows()
    const at = focused()
    const stop = every.find((row) => row === at) || every.find((row) => row.dataset.id === `${chosen}`) || every[0]
    for (const row of every) {
      row.setAttribute("aria-selected", row.dataset.id === `${chosen}`)
      row.tabIndex = row === stop ? 0 : -1
    }
  }

  /** Beside the table, or where that is narrow under the chosen row. */
  function place() {
    const row = rows().find((one) => one.dataset.id === `${model.chosen}`)
    const home = window.innerWidth <= NARROW && row ? under.firstChild : side
    under.firstChild.colSpan = [...head.querySelectorAll("th")].filter((cell) => cell.offsetWidth).length || 1
    if (panel.parentNode !== home) home.append(panel)
    if (home === side) under.remove()
    else if (row.nextSibling !== under) row.after(under)
    side.hidden = home !== side || !model.panel
  }

  function put(where, markup) {
    if (where.dataset.of === markup) return
    where.dataset.of = markup
    where.innerHTML = markup
  }

  function paint() {
    asked = 0
    const back = hold()
    view.dataset.pkTheme = model.theme
    put(head, model.head)
    if (body.dataset.of !== model.rows) { side.append(panel); put(body, model.rows) }
    put(foot, model.foot)
    put(panel, model.panel)
    view.classList.toggle("empty", !model.rows)
    place()
    mark(model.chosen)
    back()
  }

  /** Several values change at once; one painting answers them all. */
  function ask() {
    if (!asked) asked = requestAnimationFrame(paint)
  }

  function pick(row) {
    mark(row.dataset.id)
    model.send_msg({ pick: Number(row.dataset.id) })
  }

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-id]")
    if (row) pick(row)
  })
  body.addEventListener("keydown", (event) => {
    const every = rows(), at = every.indexOf(event.target)
    if (at < 0) return
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: every.length - 1 }[event.key]
    if (event.key === "Enter" || event.key === " ") pick(event.target)
    else if (to === undefined) return
    else if (every[to]) { event.target.tabIndex = -1; every[to].tabIndex = 0; every[to].focus() }
    event.preventDefault()
  })
  foot.addEventListener("click", (event) => { if (event.target.closest("button")) model.send_msg({ more: 1 }) })
  new ResizeObserver(ask).observe(el)
  for (const name of ["head", "rows", "foot", "panel", "chosen", "theme"]) model.on(name, ask)
  paint()
}
