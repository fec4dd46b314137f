// SPDX-License-Identifier: Apache-2.0
// The form for the next run, which the server makes of the run file's model. The server says what is wrong with a value, in the words of `rashpa run`.

const KEV_ANGSTROM = 12.398419843320026
const place = document.getElementById("settings")
const said = document.getElementById("settings_said")

async function load(template = "") {
  const answer = await fetch(`${place.dataset.way}?${new URLSearchParams({ template })}`, { cache: "no-store" })
  if (!answer.ok) {
    place.textContent = answer.status === 403 ? "The token for orders is needed to change them." : "The page was started without a run file."
    return
  }
  place.innerHTML = await answer.text()
  const energy = document.getElementById("set_detector.energy_kev")
  const wavelength = document.getElementById("wavelength")
  const other = (value) => (Number(value) > 0 ? String(Number((KEV_ANGSTROM / Number(value)).toPrecision(8))) : "")
  if (energy !== null) wavelength.value = other(energy.value)
  energy?.addEventListener("input", () => (wavelength.value = other(energy.value)))
  wavelength?.addEventListener("input", () => (energy.value = other(wavelength.value)))
  document.getElementById("template")?.addEventListener("change", (event) => load(event.target.value))
}

place.addEventListener("submit", async (event) => {
  event.preventDefault()
  said.textContent = "…"
  said.className = ""
  const answer = await fetch(place.dataset.way, { method: "POST", body: new URLSearchParams(new FormData(event.target)) })
  said.textContent = answer.ok ? "✔ Start uses these settings" : `✖ ${(await answer.text()) || answer.status}`
  said.className = answer.ok ? "good" : "bad"
})

document.getElementById("tab_next").addEventListener("click", () => place.childElementCount === 0 && load())
