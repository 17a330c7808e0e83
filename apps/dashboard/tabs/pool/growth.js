// The pool over a run, in few shapes. Numbers come from growth.py; texts go in as text, never as markup.
const TALL = 170, RUG = 20, RATE = 56, GAP = 16, FLAGS = 22, FOOT = 22, AXIS = 34, NAMES = 150
const WIDE = 560 // pixels; below, sources are named by the list beside it only
const RECENT = 12 // lookups that the hit rate is of
const KEY = [["hit", "a phrase fits"], ["unfit", "tried, none fits"], ["miss", "no phrase after the token"]]

const NS = "http" + "://www.w3.org/2000/svg" // a name, not an address
function s(tag, props, ...kids) {
  const made = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, value)
  made.append(...kids)
  return made
}
function h(tag, cls, ...kids) {
  const made = Object.assign(document.createElement(tag), { className: cls })
  made.append(...kids)
  return made
}
const near = (value) => +value.toFixed(1) // a tenth of a pixel
const sum = (values) => values.reduce((total, value) => total + value, 0)
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`

/** A round number at or above a value: 1, 2, 2.5, 5 times a power of ten. */
function above(value) {
  const power = 10 ** Math.floor(Math.log10(value))
  return power * [1, 2, 2.5, 5, 10].find((step) => step * power >= value * 0.999)
}

/** The textures of sources.css, as far as a drawing needs them. */
function textures() {
  const tile = (id, size, ...kids) => s("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse" }, s("rect", { class: "bed", width: size, height: size }), ...kids)
  const rising = (at) => s("path", { class: "grain", d: `M-1,1l2,-2M0,${at}l${at},-${at}M${at - 1},${at + 1}l2,-2` })
  const falling = (at) => s("path", { class: "grain", d: `M0,0l${at},${at}` })
  const dot = (x, y) => s("circle", { class: "dot", cx: x, cy: y, r: 1.1 })
  return s("defs", {},
    tile("committed", 7, rising(7)), tile("discarded", 5, dot(1.3, 1.3), dot(3.8, 3.8)),
    tile("suffix", 7, rising(7), falling(7)), tile("other", 5, s("path", { class: "grain", d: "M2.5,0v5" })))
}
const fill = (look) => (look === "window" ? "var(--plain)" : look === "older" ? "var(--ghost)" : `url(#${look})`)

class Figure {
  constructor(model, el) {
    this.model = model
    this.root = h("div", "growth")
    this.key = h("p", "key")
    this.table = h("details", "", h("summary", "", "Show as table"))
    this.table.addEventListener("toggle", () => this.twin())
    el.append(this.root, this.key, this.table)
    this.asked = 0
    new ResizeObserver(() => this.ask()).observe(this.root)
    for (const name of ["run", "marks"]) model.on(name, () => this.ask())
    this.ask()
  }

  /** Several values change at once; one drawing answers them all. */
  ask() {
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw() })
  }

  draw() {
    const { steps } = this.model.run
    const width = this.root.clientWidth
    if (!width) return
    this.table.hidden = !steps
    if (!steps) {
      this.root.replaceChildren(h("p", "empty", "No run with this pool is shown. Run a prompt on Step or Tune, and its growth is drawn here."))
      this.key.replaceChildren()
      return
    }
    this.wide = width >= WIDE
    this.left = AXIS
    this.right = width - (this.wide ? NAMES : 8)
    this.x = (at) => this.left + (at / steps.length) * (this.right - this.left)
    const rug = FLAGS + TALL + GAP, rate = rug + RUG + GAP + 4
    this.height = rate + RATE + FOOT
    const svg = s("svg", { viewBox: `0 0 ${width} ${this.height}`, height: this.height, role: "img", "aria-label": this.model.run.sentence }, textures())
    svg.append(...this.stack(), ...this.rug(rug), ...this.rate(rate), ...this.axis(), ...this.flags())
    this.root.replaceChildren(svg)
    this.legend()
    if (this.table.open) this.twin()
  }

  /** Areas of phrases held, one on the other; what was there before the run is there from its first moment. */
  stack() {
    const { sources, steps } = this.model.run
    const sizes = steps.map((step) => step.slice(0, sources.length))
    const top = above(Math.max(4, ...sizes.map(sum)))
    const y = (value) => FLAGS + TALL * (1 - value / top)
    const drawn = [0, top / 2, top].flatMap((value) => this.grid(y(value), `${value}`))
    const start = sources.map(([look], at) => (look === "older" ? sizes[0][at] : 0))
    const points = [start, ...sizes]
    let base = points.map(() => 0)
    const names = []
    sources.forEach(([look, words], at) => {
      const from = base
      base = base.map((value, i) => value + points[i][at])
      const over = base.map((value, i) => `${near(this.x(i))},${near(y(value))}`)
      const back = from.map((value, i) => `${near(this.x(i))},${near(y(value))}`).reverse()
      drawn.push(s("path", { class: "area", d: `M${[...over, ...back].join("L")}Z`, fill: fill(look) }))
      if (sizes.at(-1)[at]) names.push([(y(from.at(-1)) + y(base.at(-1))) / 2, words, sizes.at(-1)[at]])
    })
    return [...drawn, ...(this.wide ? this.names(names) : [])]
  }

  /** Names at the right, from the top down and never one on the other. */
  names(names) {
    let free = FLAGS
    return names.reverse().map(([y, words, count]) => {
      const at = Math.max(y, free)
      free = at + 16
      return s("text", { class: "name", x: this.right + 8, y: at + 4 }, words, s("tspan", { class: "count" }, ` ${count}`))
    })
  }

  rug(top) {
    const paths = [["hit", 0], ["unfit", 8], ["miss", 16]].map(([cls, above], outcome) => {
      const ticks = this.model.run.lookups.filter((one) => one[1] === outcome).map(([at]) => `M${near(this.x(at))},${top + above}V${top + RUG}`)
      return s("path", { class: cls, d: ticks.join("") })
    })
    return [...paths, ...(this.wide ? [s("text", { class: "name", x: this.right + 8, y: top + 15 }, "lookups")] : [])]
  }

  rate(top) {
    const y = (share) => top + RATE * (1 - share)
    const points = this.model.run.lookups.map(([at, , recent]) => `${near(this.x(at))},${near(y(recent))}`)
    const drawn = [0, 0.5, 1].flatMap((share) => this.grid(y(share), `${100 * share}%`))
    if (points.length) drawn.push(s("path", { class: "line", d: `M${points.join("L")}` }))
    if (this.wide) drawn.push(s("text", { class: "name", x: this.right + 8, y: top + 22 }, "hit rate"), s("text", { class: "axis", x: this.right + 8, y: top + 37 }, `of the last ${RECENT} lookups`))
    return drawn
  }

  grid(y, words) {
    return [s("line", { class: "grid", x1: this.left, x2: this.right, y1: y, y2: y }), s("text", { class: "axis", x: this.left - 6, y: y + 4, "text-anchor": "end" }, words)]
  }

  axis() {
    const count = this.model.run.steps.length
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => count / size <= (this.wide ? 9 : 5)) || 1000
    const y = this.height - 4
    const ticks = [s("text", { class: "axis", x: this.left, y }, "iteration")]
    for (let at = step; at <= count; at += step) {
      const x = this.x(at - 0.5)
      if (x > this.left + 64) ticks.push(s("text", { class: "axis", x, y, "text-anchor": "middle" }, `${at}`))
    }
    return ticks
  }

  /** Where the chosen phrase was born and used; of flags that would overlap only the first is written. */
  flags() {
    let free = 0
    return this.model.marks.filter(([at]) => at < this.model.run.steps.length).flatMap(([at, words]) => {
      const x = near(this.x(at + 0.5)), broad = words.length * 6.4 + 10
      const from = Math.min(x - 1, this.right + (this.wide ? 60 : 8) - broad)
      const shown = from >= free
      if (shown) free = from + broad + 2
      const rule = s("line", { class: "mark", x1: x, x2: x, y1: shown ? 1 : FLAGS, y2: this.height - FOOT + 2 }, s("title", {}, `${words} in iteration ${at + 1}`))
      if (!shown) return [rule]
      return [rule, s("rect", { class: "flag", x: from, y: 1, width: broad, height: 17, rx: 3 }), s("text", { class: "flagtext", x: from + 5, y: 13.5 }, words)]
    })
  }

  legend() {
    const { lookups, steps } = this.model.run
    const counts = KEY.map((_, outcome) => lookups.filter((one) => one[1] === outcome).length)
    const entries = KEY.map(([cls, words], at) => h("span", "", h("i", cls), `${words}, ${counts[at]}`))
    const gone = sum(steps.map((step) => step.at(-1)))
    this.key.replaceChildren(...(lookups.length ? entries : []), ...(gone ? [h("span", "", `${counted(gone, "phrase")} had to go`)] : []))
  }

  twin() {
    while (this.table.children.length > 1) this.table.lastChild.remove()
    if (!this.table.open) return
    const { sources, steps, lookups } = this.model.run
    const cells = (tag, values) => h("tr", "", ...values.map((value) => Object.assign(h(tag, "", `${value}`), tag === "th" ? { scope: "col" } : {})))
    const asked = (at, outcome) => lookups.filter((one) => Math.floor(one[0]) === at && one[1] === outcome).length
    const body = steps.map((step, at) => cells("td", [at + 1, ...step, ...KEY.map((_, outcome) => asked(at, outcome))]))
    const head = cells("th", ["iteration", ...sources.map(([, words]) => words), "new", "gone", ...KEY.map(([, words]) => words)])
    const scroll = h("div", "scroll", h("table", "", h("thead", "", head), h("tbody", "", ...body)))
    scroll.tabIndex = 0
    scroll.setAttribute("role", "region")
    scroll.setAttribute("aria-label", "Growth as a table")
    this.table.append(scroll)
  }
}

export function render({ model, el }) {
  new Figure(model, el)
}
