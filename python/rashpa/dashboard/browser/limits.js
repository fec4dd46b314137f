// SPDX-License-Identifier: Apache-2.0
// Forms for limits of vetoes of the run that goes on. The manager says what is wrong with a value, in the words of the run file.

const place = document.getElementById("limits")
const said = document.getElementById("limits_said")

async function load() {
  const answer = await fetch(place.dataset.way, { cache: "no-store" })
  if (answer.ok) place.innerHTML = await answer.text()
  else place.textContent = answer.status === 403 ? "The token for orders is needed to change them." : `The page has no answer (${answer.status}).`
}

place.addEventListener("submit", async (event) => {
  event.preventDefault()
  const form = event.target
  const changed = new URLSearchParams()
  for (const input of form.elements) if (input.name && input.value !== input.defaultValue) changed.append(input.name, input.value)
  said.className = ""
  said.textContent = "…"
  const query = new URLSearchParams({ buffer: form.dataset.buffer, step: form.dataset.step })
  const answer = await fetch(`${place.dataset.way}?${query}`, { method: "POST", body: changed })
  said.textContent = `${answer.ok ? "✔" : "✖"} ${(await answer.text()) || answer.status}`
  said.className = answer.ok ? "good" : "bad"
  if (answer.ok) setTimeout(load, 1000) // the page's server has looked at the nodes again by then
})

document.getElementById("tab_books").addEventListener("click", load)
document.getElementById("load_limits").addEventListener("click", load)
