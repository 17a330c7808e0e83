// Put a text on the clipboard; whether that worked. A page that is not secure, or a browser that refuses, has
// the old way left. Its field stands beside `near`, as a dialog takes the focus from all that is outside.
function copied(text, near) {
  const old = () => {
    const field = Object.assign(document.createElement("textarea"), { value: text })
    field.style.cssText = "position:fixed;opacity:0"
    near.append(field)
    field.select()
    const done = document.execCommand("copy")
    field.remove()
    return done
  }
  return navigator.clipboard ? navigator.clipboard.writeText(text).then(() => true, old) : Promise.resolve(old())
}
