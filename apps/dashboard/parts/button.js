// A button that can be reached while it is off, so that it can say why.
export function render({ model, el }) {
  const button = Object.assign(document.createElement("button"), { type: "button" })

  function paint() {
    button.textContent = model.label
    button.className = model.variant
    button.title = model.disabled ? model.why : ""
    button.ariaDisabled = String(model.disabled)
    button.ariaDescription = button.title || null
  }
  button.addEventListener("click", () => { if (!model.disabled) model.send_event("click", {}) })
  for (const name of ["label", "variant", "disabled", "why"]) model.on(name, paint)
  model.on("msg:custom", () => button.focus())
  el.style.width = button.style.width = "100%"
  el.append(button)
  paint()
}
