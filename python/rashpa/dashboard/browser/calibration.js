// SPDX-License-Identifier: Apache-2.0
// The calibration of the run, a module at a time. The server reads and draws its maps when a person asks.

const place = document.getElementById("calibration")

document.getElementById("show_calibration").addEventListener("submit", async (event) => {
  event.preventDefault()
  place.textContent = "…"
  const query = new URLSearchParams({ module: document.getElementById("calibration_module").value })
  const answer = await fetch(`${place.dataset.way}?${query}`, { cache: "no-store" })
  if (answer.ok) place.innerHTML = await answer.text()
  else place.textContent = `The page has no answer (${answer.status}).`
})
