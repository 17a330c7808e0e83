// A plotly figure; plotly's code is fetched from this server when the first one is shown.
function plotly(source) {
  window.phrasekitPlotly ||= new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: source, onload: () => done(window.Plotly), onerror: failed })
    document.head.append(script)
  })
  return window.phrasekitPlotly
}

export function render({ model, el }) {
  const place = document.createElement("div")
  const loading = Object.assign(document.createElement("p"), { textContent: "The chart is being loaded.", hidden: true })
  loading.setAttribute("role", "status")
  loading.style.cssText = "font:12px/17px var(--sans);color:var(--ink-3);margin:0;padding:14px 20px"
  el.style.cssText = "width:100%;overflow-x:auto"
  el.append(loading, place)

  async function draw() {
    const { data, layout, config } = model.figure
    if (!data) { place.replaceChildren(); place.style.minHeight = 0; return }
    place.style.minHeight = `${layout.height || 400}px`
    loading.hidden = Boolean(window.Plotly)
    let Plotly
    try { Plotly = await plotly(model.source) } catch {
      loading.textContent = "The chart could not be loaded; its numbers are in the table below. Load the page again to retry."
      return
    }
    loading.hidden = true
    await Plotly.react(place, data, { ...layout, width: Math.max(model.least, el.clientWidth) }, { ...config, responsive: false })
  }

  new ResizeObserver(() => { if (place.data) window.Plotly.relayout(place, { width: Math.max(model.least, el.clientWidth) }) }).observe(el)
  model.on("figure", draw)
  draw()
}
