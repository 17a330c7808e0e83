// Lanes over iterations. A row of numbers per iteration comes in, and only new ones (see lanes.py); everything
// else is drawn here, in few shapes, so that a run in progress costs its server and its reader next to nothing.
const [TOKENS, MS, DRAFTED, FORWARDS, LOOKUPS, HITS, LATE, DRAFT_MS, TARGET_MS] = Array(9).keys()
const MEAN = 4 // iterations that a line takes together
const WIDE = 620 // pixels; below, names stand above their lanes
const TALL = 56, GAP = 20, HEAD = 30, FOOT = 22, LABELS = 176, AXIS = 40

const total = (rows, at) => rows.reduce((sum, row) => sum + row[at], 0)
const ratio = (rows, over, under, scale = 1) => {
  const below = total(rows, under)
  return below ? (scale * total(rows, over)) / below : null
}
const near = (value) => +value.toFixed(1) // a tenth of a pixel
const number = (value, digits) => (value === null ? "–" : value.toFixed(digits))
const round = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))

const LANES = [
  { name: "tokens/s", note: `over the last ${MEAN} iterations`, hue: "--ink", floor: 10,
    of: (rows) => ratio(rows, TOKENS, MS, 1000), shown: (v) => (v === null ? "–" : round(v)) },
  { name: "tokens per target forward", note: "η, 1 in plain decoding", hue: "--target-edge", floor: 3, dots: TOKENS, rule: 1,
    of: (rows) => total(rows, TOKENS) / rows.length, shown: (v) => number(v, 1) },
  { name: "tokens per draft forward", note: "c, 1 without phrases", hue: "--draft-edge", floor: 2, rule: 1,
    dot: (row) => (row[FORWARDS] ? row[DRAFTED] / row[FORWARDS] : null),
    of: (rows) => ratio(rows, DRAFTED, FORWARDS), shown: (v) => number(v, 1) },
  { name: "hit rate", note: "lookups that find a phrase", hue: "--phrase-edge", floor: 1, top: 1, percent: true,
    of: (rows) => ratio(rows, HITS, LOOKUPS), shown: (v) => (v === null ? "–" : `${(100 * v).toFixed(0)}%`) },
  { name: "#Match − A", note: "right, but after a mistake", hue: "--ink", floor: 2, bars: LATE,
    of: (rows) => total(rows, LATE) / rows.length, shown: (v) => number(v, 1) },
  { name: "ms per iteration", note: "by whose forward", hue: "--ink", floor: 1, stack: true,
    of: (rows) => total(rows, MS) / rows.length, shown: (v) => (v === null ? "–" : v < 10 ? v.toFixed(1) : round(v)) },
]

const NS = "http" + "://www.w3.org/2000/svg" // a name, not an address
function s(tag, props, ...kids) {
  const made = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(props || {})) made.setAttribute(name, value)
  made.append(...kids)
  return made
}
function h(tag, props, ...kids) {
  const made = Object.assign(document.createElement(tag), props)
  made.append(...kids)
  return made
}

/** A round number at or above a value: 1, 2, 2.5, 5 times a power of ten. */
function above(value) {
  const power = 10 ** Math.floor(Math.log10(value))
  return power * [1, 2, 2.5, 5, 10].find((step) => step * power >= value * 0.999)
}

function lane(spec, rows, plain) {
  const means = rows.map((_, at) => spec.of(rows.slice(Math.max(0, at - MEAN + 1), at + 1)))
  const dots = spec.dots !== undefined ? rows.map((row) => row[spec.dots]) : spec.dot ? rows.map(spec.dot) : []
  const bars = spec.bars !== undefined ? rows.map((row) => row[spec.bars]) : spec.stack ? rows.map((row) => row[MS]) : []
  // the first iteration also reads the prompt; its bar may leave the lane rather than flatten the others
  const reach = [...means.slice(rows.length > 3 ? 1 : 0), ...dots, ...bars.slice(rows.length > 3 ? 1 : 0)]
  const most = Math.max(spec.floor, ...reach.filter((v) => v !== null), spec === LANES[0] ? plain : 0)
  return { means, dots, bars, top: spec.top || above(most) }
}

class Chart {
  constructor(model, el) {
    this.model = model
    this.root = h("div", { className: "lanes", tabIndex: 0 })
    this.root.setAttribute("role", "group")
    this.tip = h("div", { className: "tip" })
    this.table = h("details", {}, h("summary", { textContent: "Show as table" }))
    this.table.addEventListener("toggle", () => this.fill())
    el.append(this.root, this.table)
    this.at = -1
    this.root.addEventListener("pointermove", (event) => this.point(event))
    this.root.addEventListener("pointerleave", () => this.look(-1))
    this.root.addEventListener("blur", () => this.look(-1))
    this.root.addEventListener("keydown", (event) => this.key(event))
    this.asked = 0
    this.rows = []
    this.run = -1
    new ResizeObserver(() => this.ask()).observe(this.root)
    for (const name of ["marks", "waiting", "plain", "made", "going"]) model.on(name, () => this.ask())
    model.on("part", () => this.take())
    this.take()
  }

  /** Take new rows; a page that opens in the middle of a run asks for those before. */
  take() {
    const { run, first, rows } = this.model.part
    if (run !== this.run || first === 0) this.rows = []
    this.run = run
    if (first > this.rows.length) this.model.asked += 1
    else this.rows = [...this.rows.slice(0, first), ...rows]
    this.ask()
  }

  /** Several values change at once; one drawing answers them all. */
  ask() {
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw() })
  }

  draw() {
    const { rows } = this
    const width = this.root.clientWidth
    if (!width) return
    this.root.replaceChildren()
    this.root.dataset.marks = this.model.marks.length // what is drawn, for whoever measures
    if (!rows.length) {
      this.root.append(h("p", { className: "empty", textContent: this.model.going ? "Waiting for the first iteration." : "Run a prompt, and its iterations arrive here one by one." }))
      return
    }
    this.measure(width, rows)
    const svg = s("svg", { viewBox: `0 0 ${width} ${this.height}`, height: this.height, role: "img", "aria-label": this.sentence(rows) })
    svg.append(...LANES.flatMap((spec, at) => this.lane(spec, at, rows)), ...this.axis(), ...this.flags())
    this.hair = s("line", { class: "hair", y1: HEAD, y2: this.height - FOOT })
    svg.append(this.hair)
    this.root.append(svg, this.key_(), this.tip)
    if (this.at >= 0) this.look(Math.min(this.at, rows.length - 1))
    if (this.table.open) this.fill()
  }

  measure(width, rows) {
    const { made, going } = this.model
    this.wide = width >= WIDE
    this.left = (this.wide ? LABELS : 0) + AXIS
    this.right = width - 12
    this.pitch = this.wide ? TALL + GAP : TALL + 34
    this.height = HEAD + LANES.length * this.pitch + FOOT
    const each = made[0] / rows.length
    const expected = going && each ? made[1] / each : rows.length
    this.span = Math.max(12, Math.ceil(Math.min(expected, rows.length * 4) + 1), rows.length + (going ? 2 : 0))
    this.x = (iteration) => this.left + ((iteration + 0.5) / this.span) * (this.right - this.left)
    this.edge = (iteration) => this.left + (iteration / this.span) * (this.right - this.left)
  }

  lane(spec, at, rows) {
    const { means, dots, bars, top } = lane(spec, rows, this.model.plain)
    const y0 = HEAD + at * this.pitch + (this.wide ? 4 : 24), y1 = y0 + TALL
    const y = (value) => y1 - (Math.min(value, top) / top) * TALL
    const hue = `var(${spec.hue})`
    const drawn = []
    const now = this.edge(rows.length)
    if (this.model.going) drawn.push(s("rect", { class: "future", x: now, y: y0, width: Math.max(0, this.right - now), height: TALL }))
    if (at) drawn.push(s("line", { class: "split", x1: 0, x2: this.right, y1: y0 - (this.wide ? GAP / 2 : 28), y2: y0 - (this.wide ? GAP / 2 : 28) }))
    for (const value of [0, top / 2, top]) {
      drawn.push(s("line", { class: "grid", x1: this.left, x2: this.right, y1: y(value), y2: y(value) }))
      const told = spec.percent ? `${100 * value}%` : `${+value.toFixed(2)}`
      drawn.push(s("text", { class: "axis", x: this.left - 6, y: y(value) + 4, "text-anchor": "end" }, told))
    }
    const ruled = at === 0 ? this.model.plain : spec.rule
    if (ruled) drawn.push(s("line", { class: "dashes", x1: this.left, x2: this.right, y1: y(ruled), y2: y(ruled) }))
    const broad = Math.max(1.5, Math.min(9, (0.7 * (this.right - this.left)) / this.span))
    if (spec.stack) drawn.push(...this.stack(rows, y, broad))
    else {
      const columns = bars.map((value, i) => (value ? this.column(i, y1, y(value), broad) : ""))
      const points = dots.map((value, i) => (value === null ? "" : `M${near(this.x(i))},${near(y(value))}h0`))
      const turns = means.map((value, i) => (value === null ? "" : `${i && means[i - 1] !== null ? "L" : "M"}${near(this.x(i))},${near(y(value))}`))
      drawn.push(s("path", { class: "bar", d: columns.join("") }))
      drawn.push(s("path", { class: "dots", d: points.join(""), stroke: hue }))
      drawn.push(s("path", { class: "line", d: turns.join(""), stroke: hue }))
    }
    const last = means.at(-1)
    if (last !== null && !spec.stack) drawn.push(s("circle", { cx: this.x(rows.length - 1), cy: y(last), r: 4, fill: hue, stroke: "var(--surface)", "stroke-width": 1.5 }))
    if (ruled && at === 0) {
      const told = `plain decoding ${round(ruled)}`
      const heights = means.map((value) => (value === null ? null : y(value)))
      const rows = [y(ruled) - 8, y(ruled) + 16, y0 + 8, y1 - 4].filter((row, i) => row <= y1 && (i < 2 || Math.abs(row - 4 - y(ruled)) > 10))
      const [x, row] = this.free(heights, rows, told.length * 6)
      drawn.push(s("text", { class: "axis halo", x, y: row, "text-anchor": "end" }, told))
    }
    const value = spec.shown(last)
    const whole = at === 0 && !this.model.going ? `${spec.shown(spec.of(rows))} over the run` : ""
    if (this.wide) {
      drawn.push(s("text", { class: "name", x: 0, y: y0 + 9 }, spec.name), s("text", { class: "value", x: 0, y: y0 + 34 }, value), s("text", { class: "note", x: 0, y: y0 + 53 }, whole ? `last ${MEAN}; ${whole}` : spec.note))
    } else {
      drawn.push(s("text", { class: "name", x: 0, y: y0 - 10 }, whole ? `${spec.name}, ${whole}; last ${MEAN}:` : spec.name), s("text", { class: "value", x: this.right, y: y0 - 8, "text-anchor": "end", style: "font-size:15px" }, value))
    }
    return drawn
  }

  /** Where words of a width end that no part of a line goes through: on the first row with such a place. */
  free(heights, rows, broad) {
    const met = (end, row) => heights.some((height, i) => {
      const before = heights[i - 1] ?? height
      if (height === null || this.x(i) < end - broad - 6 || this.x(i - 1) > end + 6) return false
      return Math.min(height, before) < row + 5 && Math.max(height, before) > row - 13
    })
    for (const row of rows)
      for (let end = this.right; end - broad > this.left; end -= 8) if (!met(end, row)) return [end, row]
    return [this.right, rows[0]]
  }

  column(i, from, to, broad) {
    return `M${near(this.x(i) - broad / 2)},${near(from)}V${near(to)}h${near(broad)}V${near(from)}z`
  }

  stack(rows, y, broad) {
    const parts = (row) => [row[TARGET_MS], row[DRAFT_MS], Math.max(0, row[MS] - row[DRAFT_MS] - row[TARGET_MS])]
    const sum = (row, upTo) => parts(row).slice(0, upTo).reduce((total, ms) => total + ms, 0)
    return ["--target-edge", "--draft-tint", "--ghost"].map((fill, part) => {
      const columns = rows.map((row, i) => this.column(i, y(sum(row, part)), y(sum(row, part + 1)), broad))
      return s("path", { d: columns.join(""), fill: `var(${fill})` })
    })
  }

  axis() {
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => this.span / size <= (this.wide ? 9 : 5)) || 1000
    const ticks = []
    for (let at = step; this.x(at - 1) < this.right - 64; at += step) ticks.push(s("text", { class: "axis", x: this.x(at - 1), y: this.height - 6, "text-anchor": "middle" }, `${at}`))
    ticks.push(s("text", { class: "axis", x: this.right, y: this.height - 6, "text-anchor": "end" }, "iteration"))
    return ticks
  }

  flags() {
    const { rows } = this, { marks, waiting } = this.model
    const every = marks.map(([iteration, words]) => [iteration, words, ""])
    if (waiting) every.push([rows.length, `${waiting} waits`, " waits"])
    let free = this.left - 8
    return every.flatMap(([iteration, words, waits]) => {
      const x = this.edge(iteration)
      const told = this.wide ? words : words.replace(/ \S+ →/g, "")
      const broad = told.length * 6.4 + 12
      const from = Math.min(Math.max(x - 1, 0), this.right - broad)
      const shown = from >= free
      if (shown) free = from + broad + 4
      const rule = s("line", { class: `mark${waits}`, x1: x, x2: x, y1: shown ? 19 : HEAD - 4, y2: this.height - FOOT })
      rule.append(s("title", {}, `${words}, from iteration ${iteration + 1} on`))
      if (!shown) return [rule]
      return [rule, s("rect", { class: `flag${waits}`, x: from, y: 1, width: broad, height: 18, rx: 3 }), s("text", { class: `flagtext${waits}`, x: from + 6, y: 14 }, told)]
    })
  }

  key_() {
    const entry = (hue, words) => {
      const swatch = h("i", {})
      swatch.style.background = `var(${hue})`
      return h("span", {}, swatch, words)
    }
    return h("div", { className: "key" }, entry("--target-edge", "target forward"), entry("--draft-tint", "draft forwards"), entry("--ghost", "everything else: pool, tree, text"))
  }

  sentence(rows) {
    const values = LANES.map((spec) => `${spec.name} ${spec.shown(spec.of(rows.slice(-MEAN)))}`)
    return `${rows.length} iterations; over the last ${MEAN}: ${values.join(", ")}.`
  }

  point(event) {
    const { rows } = this
    if (!rows.length || !this.x) return
    const x = event.clientX - this.root.getBoundingClientRect().left
    const at = Math.floor(((x - this.left) / (this.right - this.left)) * this.span)
    this.look(at >= 0 && at < rows.length ? at : -1)
  }

  key(event) {
    const last = this.rows.length - 1
    const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: last, Escape: -1 }[event.key]
    if (to === undefined || last < 0) return
    event.preventDefault()
    this.look(event.key === "Escape" ? -1 : Math.max(0, Math.min(last, to)))
  }

  look(at) {
    this.at = at
    if (!this.hair) return
    const seen = at >= 0 ? "visible" : "hidden"
    this.hair.style.visibility = this.tip.style.visibility = seen
    if (at < 0) return
    const row = this.rows[at]
    const x = this.x(at)
    this.hair.setAttribute("x1", x)
    this.hair.setAttribute("x2", x)
    const moved = this.model.marks.filter(([iteration]) => iteration === at).map(([, words]) => words)
    const lines = [
      [`${row[TOKENS]} tokens`, ` in ${row[MS].toFixed(1)} ms`],
      [`${row[DRAFTED]} drafted`, ` in ${row[FORWARDS]} draft forwards`],
      [`${row[HITS]} of ${row[LOOKUPS]}`, " lookups found a phrase"],
      [`${row[LATE]} tokens`, " right, but after a mistake"],
      [`${row[TARGET_MS].toFixed(1)} ms`, ` target, ${row[DRAFT_MS].toFixed(1)} ms draft`],
    ]
    this.tip.replaceChildren(h("b", { textContent: `Iteration ${at + 1}` }), moved.length ? `: ${moved.join(", ")}` : "")
    for (const [strong, rest] of lines) this.tip.append(h("div", {}, h("b", { textContent: strong }), rest))
    const place = x + 12 + 240 > this.right ? x - 244 : x + 12
    this.tip.style.transform = `translate(${Math.max(0, place)}px, ${HEAD + 8}px)`
  }

  fill() {
    while (this.table.children.length > 1) this.table.lastChild.remove()
    if (!this.table.open) return
    const heads = ["iteration", "tokens", "ms", "drafted", "draft forwards", "lookups", "hits", "#Match − A", "draft ms", "target ms", "moved"]
    const head = h("tr", {}, ...heads.map((name) => Object.assign(h("th", { textContent: name }), { scope: "col" })))
    const moved = new Map(this.model.marks)
    const body = this.rows.map((row, at) => h("tr", {}, ...[at + 1, ...row, moved.get(at) || ""].map((cell) => h("td", { textContent: cell }))))
    this.table.append(h("div", { className: "scroll", tabIndex: 0 }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body))))
  }
}

export function render({ model, el }) {
  new Chart(model, el).ask()
}
