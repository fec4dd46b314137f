// SPDX-License-Identifier: Apache-2.0
// The last accepted images that this page has seen, as it has seen them: to step through, to go to one, and to add up.
import { stacked } from "./image_values.js"

const MOST = 200
const MOST_BYTES = 96 << 20
const IN_STRIP = 20
const SIDE = 42
const SHARE = 5 // an addition that took a while is made anew after so many times that

const byId = (name) => document.getElementById(name)

export class KeptImages {
  /** `chosen`: called with a kept image to show, null: the newest again. `colours`: of the pixels of an image. */
  constructor(chosen, colours) {
    this.chosen = chosen
    this.colours = colours
    this.strip = byId("strip")
    this.said = byId("kept")
    this.forget()
    byId("older").addEventListener("click", () => this.step(-1))
    byId("newer").addEventListener("click", () => this.step(1))
    byId("brightest").addEventListener("click", () => this.goTo(this.brightest()))
    byId("live").addEventListener("click", () => this.goTo(null))
    byId("go").addEventListener("click", () => this.goToFrame(Number(byId("number").value)))
    byId("number").addEventListener("keydown", (event) => event.key === "Enter" && this.goToFrame(Number(byId("number").value)))
    byId("image_part").addEventListener("keydown", (event) => {
      const step = { "[": -1, "]": 1 }[event.key]
      if (step !== undefined && event.target.tagName !== "INPUT") this.step(step)
    })
  }

  forget() {
    this.views = []
    this.bytes = 0
    this.at = null // the one that is shown; null: the newest of the run
    this.sum = null
    this.strip.replaceChildren()
    this.say()
  }

  add(view) {
    const newest = this.views.at(-1)
    if (newest !== undefined && newest.facts.index >= view.facts.index) {
      if (newest.facts.index === view.facts.index) this.replace(view)
      return
    }
    const { image } = view.arrays
    this.views.push({ ...view, bright: brightnessOf(image) })
    this.bytes += sizeOf(image)
    while (this.views.length > MOST || (this.bytes > MOST_BYTES && this.views.length > 1)) this.bytes -= sizeOf(this.views.shift().arrays.image)
    this.addToStrip(view)
    this.say()
  }

  /** The same image, looked at more closely. */
  replace(view) {
    const before = this.views.pop()
    this.bytes += sizeOf(view.arrays.image) - sizeOf(before.arrays.image)
    this.views.push({ ...view, bright: before.bright })
  }

  addToStrip(view) {
    const button = document.createElement("button")
    button.type = "button"
    button.setAttribute("aria-label", `frame ${view.facts.frame}`)
    button.title = `frame ${view.facts.frame}`
    button.append(this.thumbnail(view.arrays.image))
    button.addEventListener("click", () => this.goToFrame(view.facts.frame))
    this.strip.append(button)
    while (this.strip.children.length > IN_STRIP) this.strip.firstChild.remove()
    this.strip.scrollLeft = this.strip.scrollWidth
  }

  thumbnail(image) {
    const [rows, columns] = image.shape
    const canvas = document.createElement("canvas")
    const step = Math.max(1, Math.ceil(Math.max(rows, columns) / SIDE))
    canvas.width = Math.ceil(columns / step)
    canvas.height = Math.ceil(rows / step)
    const small = { ...image, values: new image.values.constructor(canvas.width * canvas.height), codes: image.codes === null ? null : new Uint8Array(canvas.width * canvas.height) }
    for (let row = 0; row < canvas.height; ++row) {
      for (let column = 0; column < canvas.width; ++column) {
        const [from, to] = [row * step * columns + column * step, row * canvas.width + column]
        small.values[to] = image.values[from]
        if (small.codes !== null) small.codes[to] = image.codes[from]
      }
    }
    const pixels = new ImageData(new Uint8ClampedArray(this.colours(small).buffer), canvas.width, canvas.height)
    canvas.getContext("2d").putImageData(pixels, 0, 0)
    return canvas
  }

  // ---- going to one ----------------------------------------------------------------------------------------------------------------

  brightest() {
    let best = null
    for (const view of this.views) if (best === null || view.bright > best.bright) best = view
    return best
  }

  step(by) {
    if (this.views.length === 0) return
    const now = this.at === null ? this.views.length - 1 : this.views.indexOf(this.at)
    const next = now + by
    if (next >= this.views.length) this.goTo(null)
    else this.goTo(this.views[Math.max(0, next)])
  }

  goToFrame(frame) {
    const found = this.views.find((view) => view.facts.frame === frame)
    if (found !== undefined) this.goTo(found)
    else this.say(`frame ${frame} is not among them; a file has it, or it was not accepted`)
  }

  goTo(view) {
    this.at = view
    byId("live").setAttribute("aria-pressed", String(view === null))
    if (view !== null) byId("number").value = String(view.facts.frame)
    this.say()
    this.chosen(view)
  }

  say(problem = "") {
    const [first, last] = [this.views[0], this.views.at(-1)]
    const known = first === undefined ? "no image kept yet" : `${this.views.length} kept: frames ${first.facts.frame} … ${last.facts.frame}`
    const place = this.at === null ? "" : `, ${this.views.length - this.views.indexOf(this.at)}. from the newest`
    const text = problem || known + place
    if (this.said.textContent !== text) this.said.textContent = text
  }

  // ---- adding up -------------------------------------------------------------------------------------------------------------------

  /** Sum, mean or maximum of the last `n` that show the same part as the newest; and of how many it is. */
  together(kind, n) {
    const part = this.views.at(-1).facts.view.join()
    const used = this.views.slice(-n).filter((view) => view.facts.view.join() === part)
    const same = this.sum !== null && this.sum.part === part && this.sum.kind === kind && this.sum.n === n
    if (!same || performance.now() > this.sum.again) {
      const began = performance.now()
      const image = stacked(used.map((view) => view.arrays.image), kind)
      const took = performance.now() - began
      this.sum = { part, kind, n, image, images: used.length, again: performance.now() + SHARE * took }
    }
    return this.sum
  }
}

function sizeOf(image) {
  return image.values.byteLength + (image.codes === null ? 0 : image.codes.byteLength)
}

function brightnessOf(image) {
  const { values, none } = image
  let total = 0
  for (let i = 0; i < values.length; ++i) if (values[i] !== none && Number.isFinite(values[i])) total += values[i]
  return total
}
