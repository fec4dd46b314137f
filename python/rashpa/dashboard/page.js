// SPDX-License-Identifier: Apache-2.0
// Puts the page's texts, which its server has made and escaped, in their places where they have changed.

const shown = new Map()

function show(texts) {
  for (const [name, text] of Object.entries(texts)) {
    const place = document.getElementById(name)
    if (place === null || shown.get(name) === text) continue
    shown.set(name, text)
    place.innerHTML = text
  }
}

for (;;) {
  const told = window.Bokeh?.documents?.[0]?.get_model_by_name("texts")
  if (told) {
    const hear = () => told.tags.length > 0 && show(JSON.parse(told.tags[0]))
    told.properties.tags.change.connect(hear)
    hear()
    break
  }
  await new Promise((then) => setTimeout(then, 20))
}
