// The race: a lane per method over tokens, as far as a clock has come. Texts go in as text, never as markup.
const SVG = "http://www.w3.org/2000/svg"
const KEY = [["t", "the target's own token"], ["d", "draft model"], ["p", "phrase while drafting"], ["s", "phrase as a suffix"], ["c", "copied or retrieved"]]
const FAST = 1 // seconds of the race per second of playing
const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches

function make(tag, cls, ...children) {
  const el = document.createElement(tag)
  if (cls) el.className = cls
  el.append(...children)
  return el
}

function shape(tag, attributes) {
  const el = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value)
  return el
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`

// iterations that a lane has ended when the clock says `ms`
function reached(lane, ms) {
  let count = 0
  while (count < lane.clock.length && lane.clock[count] <= ms) count++
  return count
}

function picture(lane, tokens, width) {
  const svg = shape("svg", { viewBox: `0 0 ${width} 24`, preserveAspectRatio: "none", role: "img" })
  svg.append(shape("rect", { class: "bed", x: 0, y: 3, width, height: 18 }))
  let at = 0
  while (at < tokens) { // neighbours of one kind are one rectangle, but the target's own stand alone
    const kind = lane.cells[at]
    let end = at + 1
    if (kind !== "t") while (end < tokens && lane.cells[end] === kind) end++
    const low = kind === "d"
    svg.append(shape("rect", { class: kind, x: at, y: low ? 7 : 3, width: end - at - (kind === "t" ? 0.14 : 0), height: low ? 10 : 18 }))
    at = end
  }
  if (tokens) svg.append(shape("rect", { class: "end", x: tokens - 0.1, y: 0, width: Math.max(0.2, width / 400), height: 24 }))
  svg.setAttribute("aria-label", `${lane.name}: ${counted(tokens, "token")}`)
  return svg
}

function row(lane, ms, width) {
  const name = make("span", "name", lane.name)
  if (lane.more) name.append(make("small", "", lane.more))
  const bar = make("div", "bar")
  const told = make("span", "told")
  if (lane.failure && !lane.cells) {
    bar.append(make("div", "none"))
    told.append(make("span", "bad", "not run"))
    return make("div", "row", name, bar, told)
  }
  const forwards = reached(lane, ms)
  const tokens = forwards ? lane.ends[forwards - 1] : 0
  bar.append(picture(lane, tokens, width))
  const done = lane.over && forwards === lane.clock.length && forwards > 0
  const count = counted(forwards, "forward")
  if (lane.failure) told.append(make("span", "bad", `✗ stopped after ${tokens} tokens`))
  else if (done) told.append(make("b", "", "done"), ` in ${seconds(lane.clock.at(-1))}, ${count}`)
  else told.append(make("b", "", `${tokens}`), ` tokens, ${count}`)
  return make("div", "row", name, bar, told)
}

function twin(lanes) {
  const table = make("table")
  const cells = (tag, values) => make("tr", "", ...values.map((value) => make(tag, "", value)))
  table.append(cells("th", ["", "tokens", "target forwards", "seconds"]))
  for (const lane of lanes) {
    table.append(cells("td", [lane.name, `${lane.ends.at(-1) || 0}`, `${lane.clock.length}`, ((lane.clock.at(-1) || 0) / 1000).toFixed(2)]))
  }
  const scroll = make("div", "scroll", table)
  scroll.tabIndex = 0
  scroll.setAttribute("role", "region")
  scroll.setAttribute("aria-label", "The race as a table")
  return make("details", "", make("summary", "", "Show as table"), scroll)
}

export function render({ model, el }) {
  const play = make("button", "", "Play")
  play.type = "button"
  const clock = make("span", "clock")
  const slider = Object.assign(make("input"), { type: "range", min: 0, step: 1 })
  slider.setAttribute("aria-label", "Time of the race in milliseconds")
  const track = make("div", "track", slider)
  const note = make("span", "note", "ticks: a method finishes")
  const head = make("div", "head", play, clock, track, note)
  const rows = make("div", "rows")
  const key = make("div", "key")
  const table = make("div")
  el.append(head, rows, key, table)
  let at = null // milliseconds; null is the end
  let timer = 0

  const last = () => Math.max(0, ...model.lanes.map((lane) => lane.clock.at(-1) || 0))
  const now = () => (at === null || model.going ? last() : at)

  function draw() {
    const lanes = model.lanes, end = last()
    head.style.display = lanes.length ? "" : "none"
    if (!lanes.length) { rows.replaceChildren(make("p", "empty", "No race yet. Choose who runs and press Race.")); key.replaceChildren(); table.replaceChildren(); return }
    const width = Math.max(1, model.tokens, ...lanes.map((lane) => lane.cells.length))
    rows.replaceChildren(...lanes.map((lane) => row(lane, now(), width)))
    clock.textContent = seconds(now())
    slider.max = Math.ceil(end)
    slider.value = now()
    slider.style.setProperty("--at", `${end ? (100 * now()) / end : 100}%`)
    play.disabled = slider.disabled = model.going
    play.title = model.going ? "The race goes on; it can be played again when it is over." : ""
    for (const tick of track.querySelectorAll("i")) tick.remove()
    for (const lane of lanes) {
      if (!lane.over || !lane.clock.length || !end) continue
      const tick = make("i")
      const share = lane.clock.at(-1) / end
      tick.style.left = `calc(${100 * share}% + ${8 - 16 * share}px)`
      track.append(tick)
    }
    const seen = new Set(lanes.flatMap((lane) => [...lane.cells].map((kind) => ("rjg".includes(kind) ? "c" : kind))))
    key.replaceChildren(...KEY.filter(([kind]) => seen.has(kind)).map(([kind, words]) => make("span", "", make("i", kind), words)))
    if (model.going) table.replaceChildren()
    else if (!table.firstChild || table.dataset.of !== JSON.stringify(lanes.map((lane) => lane.clock.at(-1)))) {
      table.dataset.of = JSON.stringify(lanes.map((lane) => lane.clock.at(-1)))
      table.replaceChildren(twin(lanes))
    }
  }

  function stop() {
    if (timer) cancelAnimationFrame(timer)
    timer = 0
    play.textContent = "Play"
  }

  function go(began, from) {
    timer = requestAnimationFrame((stamp) => {
      at = from + (stamp - began) * FAST
      if (at >= last()) { at = null; stop(); draw(); return }
      draw()
      go(began, from)
    })
  }

  play.addEventListener("click", () => {
    if (timer) { stop(); return }
    if (still()) { at = at === null ? 0 : null; draw(); return }
    const from = at === null ? 0 : at
    play.textContent = "Pause"
    go(performance.now(), from)
  })
  slider.addEventListener("input", () => { stop(); at = Number(slider.value); draw() })
  model.on("lanes", () => { if (model.going) { stop(); at = null } draw() })
  model.on("going", draw)
  draw()
}
