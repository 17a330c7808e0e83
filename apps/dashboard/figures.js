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
  el.style.cssText = "width:100%;overflow-x:auto"
  el.append(place)

  async function draw() {
    const { data, layout, config } = model.figure
    if (!data) { place.replaceChildren(); place.style.minHeight = 0; return }
    place.style.minHeight = `${layout.height || 400}px`
    const Plotly = await plotly(model.source)
    await Plotly.react(place, data, { ...layout, width: Math.max(620, el.clientWidth) }, { ...config, responsive: false })
  }

  new ResizeObserver(() => { if (place.data) window.Plotly.relayout(place, { width: Math.max(620, el.clientWidth) }) }).observe(el)
  model.on("figure", draw)
  draw()
}
