// SPDX-License-Identifier: Apache-2.0
// Puts the page's texts, which its server has made and escaped, in their places where they have changed. Tabs, the token, the scheme of colours.

const shown = new Map()
const byId = (name) => document.getElementById(name)

function show(texts) {
  for (const [name, text] of Object.entries(texts)) {
    const place = byId(name)
    if (place === null || shown.get(name) === text) continue
    shown.set(name, text)
    place.innerHTML = text
  }
  search()
}

// ---- tabs: the arrow keys go from one to the next -------------------------------------------------------------------------------

/** The server makes the plots of this tab alone. */
function tell(tab) {
  window.Bokeh?.documents?.[0]?.get_model_by_name("tab")?.setv({ tags: [tab.getAttribute("aria-controls").replace("panel_", "")] })
}

const tabs = Array.from(document.querySelectorAll("[role='tab']"))

function choose(tab) {
  for (const one of tabs) {
    const chosen = one === tab
    one.setAttribute("aria-selected", String(chosen))
    one.tabIndex = chosen ? 0 : -1
    byId(one.getAttribute("aria-controls")).hidden = !chosen
  }
  tell(tab)
  sessionStorage.setItem("tab", tab.id)
  window.dispatchEvent(new Event("resize")) // what was hidden had no size
}

for (const [number, tab] of tabs.entries()) {
  tab.addEventListener("click", () => choose(tab))
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = tabs[(number + step + tabs.length) % tabs.length]
    choose(next)
    next.focus()
  })
}

// ---- the token: Enter submits it, and the browser keeps a session ------------------------------------------------------------------

byId("lock")?.addEventListener("submit", async (event) => {
  event.preventDefault()
  const form = event.target
  const token = new FormData(form).get("token")
  form.reset()
  byId("lock_text").textContent = "…"
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams({ token }), redirect: "manual" })
  if (answer.type === "opaqueredirect") {
    location.reload()
    return
  }
  const said = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("p")
  byId("lock_text").textContent = `✖ ${said?.textContent ?? "the server refuses it"}`
  byId("lock_text").className = "bad"
})

// ---- alarms: a person with a name acknowledges them, and a sound, if it is switched on, repeats until then ------------------------

byId("alerts").addEventListener("click", async (event) => {
  const key = event.target.dataset?.acknowledge
  if (key === undefined) return
  const person = byId("person")
  if (person === null || person.value.trim() === "") {
    byId("lock_text").textContent = person === null ? "✖ the token for orders is needed to acknowledge" : "✖ type your name first"
    person?.focus()
    return
  }
  const answer = await fetch(byId("alerts").dataset.way, { method: "POST", body: new URLSearchParams({ alarm: key, by: person.value }) })
  byId("lock_text").textContent = answer.ok ? "operator" : "✖ the alarm is not there any more"
})

function beep() {
  if (!byId("sound").checked || document.querySelector("[data-acknowledge]") === null) return
  const audio = new AudioContext()
  const tone = audio.createOscillator()
  tone.connect(audio.destination)
  tone.frequency.value = 880
  tone.start()
  tone.stop(audio.currentTime + 0.3)
  tone.onended = () => audio.close()
}

setInterval(beep, 3000)

// ---- a lost connection: the page loads itself anew as soon as the server answers -----------------------------------------------------

const ASK_AGAIN_MS = 2000
const LOOK_MS = 5000
const ASLEEP_MS = 90000 // browsers call a page in the background once a minute at least
let lost = false

async function reloadWhenThere() {
  if (lost) return
  lost = true
  const note = document.createElement("p")
  note.className = "bad"
  note.id = "lost"
  note.textContent = "✖ The connection to the page's server is lost. What you see is old. The page loads itself anew when the server answers."
  byId("alerts").before(note)
  for (;;) {
    const there = await fetch("page.css", { method: "HEAD", cache: "no-store" }).then(() => true, () => false)
    if (there) break
    await new Promise((then) => setTimeout(then, ASK_AGAIN_MS))
  }
  location.reload()
}

/** A computer that slept may not know that its connection is gone. */
let looked = Date.now()
setInterval(() => {
  if (Date.now() - looked > ASLEEP_MS) reloadWhenThere()
  looked = Date.now()
}, LOOK_MS)

// ---- past runs --------------------------------------------------------------------------------------------------------------------

function search() {
  const words = byId("search_runs").value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const row of document.querySelectorAll("table.past tbody tr")) {
    const text = row.innerText.toLowerCase() || row.textContent.toLowerCase()
    row.hidden = !words.every((word) => text.includes(word))
  }
}

byId("search_runs").addEventListener("input", search)

// ---- light and dark: Bokeh draws on canvases, which take no colours of style sheets ------------------------------------------------

const scheme = window.matchMedia("(prefers-color-scheme: dark)")
const HERE = { sync: false }

function coloured(model, ink, paper, line) {
  const is = (name) => model.type === name || model.type.endsWith(name)
  if (model.type === "Figure") return { background_fill_color: paper, border_fill_color: paper, outline_line_color: line }
  if (is("Axis")) {
    return { axis_label_text_color: ink, major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: line }
  }
  if (is("Legend")) return { background_fill_color: paper, label_text_color: ink }
  if (is("ColorBar")) return { background_fill_color: paper, major_label_text_color: ink }
  if (is("Grid")) return { grid_line_color: line }
  return {}
}

function colourAll(doc) {
  const style = getComputedStyle(document.documentElement)
  const [ink, paper, line] = ["--ink", "--paper", "--line"].map((name) => style.getPropertyValue(name).trim())
  for (const model of doc.all_models ?? doc._all_models.values()) {
    const wanted = coloured(model, ink, paper, line)
    const changed = Object.fromEntries(Object.entries(wanted).filter(([name, value]) => model[name] !== value))
    if (Object.keys(changed).length > 0) model.setv(changed, HERE)
  }
}

for (;;) {
  const doc = window.Bokeh?.documents?.[0]
  if (doc?.get_model_by_name("texts")) {
    for (const told of ["texts", "slow_texts"].map((name) => doc.get_model_by_name(name))) {
      const hear = () => told.tags.length > 0 && show(JSON.parse(told.tags[0]))
      told.properties.tags.change.connect(hear)
      hear()
    }
    doc.on_event("connection_lost", reloadWhenThere)
    choose(tabs.find((tab) => tab.id === sessionStorage.getItem("tab")) ?? tabs[0])
    colourAll(doc)
    scheme.addEventListener("change", () => colourAll(doc))
    setInterval(() => colourAll(doc), 2000) // legends come with the first values
    break
  }
  await new Promise((then) => setTimeout(then, 20))
}
