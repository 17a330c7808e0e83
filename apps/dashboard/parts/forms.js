// A setting in every form, each with a button that copies it. Texts go in as text, never as markup.
const SHOWN = 1600 // milliseconds of "Copied"

function make(tag, cls, ...children) {
  const el = document.createElement(tag)
  if (cls) el.className = cls
  el.append(...children)
  return el
}

function button(title, text) {
  const made = make("button")
  made.type = "button"
  made.setAttribute("aria-live", "polite")
  const say = (word) => {
    made.textContent = word
    made.setAttribute("aria-label", `${word}: ${title}`)
  }
  let timer = 0
  made.addEventListener("click", async () => {
    say((await copied(text, made.parentElement)) ? "Copied" : "Not copied")
    made.focus()
    clearTimeout(timer)
    timer = setTimeout(() => say("Copy"), SHOWN)
  })
  say("Copy")
  return made
}

function form({ title, text, note }) {
  const made = make("section", "", make("div", "head", make("h2", "", title)))
  if (text) {
    const pre = make("pre", "", text)
    pre.tabIndex = 0
    made.firstChild.append(button(title, text))
    made.append(pre)
  }
  if (note) made.append(make("p", "note", note))
  return made
}

export function render({ model, el }) {
  const draw = () => el.replaceChildren(...model.forms.map(form))
  model.on("forms", draw)
  draw()
}
