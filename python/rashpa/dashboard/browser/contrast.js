// SPDX-License-Identifier: Apache-2.0
// The limits of the colours: by themselves, by percentiles, or fixed; and the histogram on which one drags them.
import { below, spreadOf } from "./image_values.js"

const SLOW = 0.2 // how fast the limits of "auto" follow
const TOP = 0.9995 // of the values are below the largest colour
const LEAST_LOG = 0.5
const PERCENT = [1, 99.9]
const BINS = 128
const NEAR = 12 // points of the screen
const DRAWN_MS = 250

const byId = (name) => document.getElementById(name)

export class Contrast {
  /** `changed`: called when a person has changed a limit. */
  constructor(changed) {
    this.mode = byId("contrast")
    this.inputs = [byId("low"), byId("high")]
    this.canvas = byId("histogram")
    this.scale = byId("scale")
    this.changed = changed
    this.limits = [0, 10]
    this.sample = new Float32Array(0)
    this.range = [0, 1]
    this.drawn = 0
    this.mode.addEventListener("change", () => this.begin())
    for (const input of this.inputs) input.addEventListener("change", () => this.typed())
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event))
    this.canvas.addEventListener("pointermove", (event) => this.drag(event))
    this.canvas.addEventListener("pointerup", () => (this.grabbed = null))
    this.grabbed = null
    this.begin()
  }

  forget() {
    this.high = 0
  }

  begin() {
    const mode = this.mode.value
    for (const input of this.inputs) input.disabled = mode === "auto"
    if (mode === "percentile") this.put(PERCENT)
    if (mode === "fixed") this.put(this.limits)
    this.high = 0
    this.follow(this.sample)
    this.changed()
  }

  typed() {
    this.follow(this.sample)
    this.changed()
  }

  put(values) {
    for (const [number, value] of values.entries()) this.inputs[number].value = String(Number(value.toPrecision(6)))
  }

  /** Whether the limits have changed with this sample. */
  follow(sample) {
    this.sample = sample
    const before = this.limits
    const log = this.scale.value === "log"
    const typed = this.inputs.map((input) => Number(input.value))
    let [low, high] = before
    if (this.mode.value === "auto") {
      const top = Math.max(2, below(sample, TOP))
      if (sample.length > 0) this.high = !this.high || top > 4 * this.high ? top : this.high + SLOW * (top - this.high)
      const wanted = this.high || 10
      ;[low, high] = [log ? LEAST_LOG : Math.min(0, below(sample, 1 - TOP)), wanted]
      if (Math.abs(high - before[1]) <= 0.05 * high && low === before[0]) high = before[1]
      this.put([low, high])
    } else if (this.mode.value === "percentile") {
      ;[low, high] = typed.map((percent) => below(sample, percent / 100))
    } else {
      ;[low, high] = typed
    }
    if (log && low <= 0) low = LEAST_LOG
    if (!(high > low)) high = low + 1
    this.limits = [low, high]
    this.draw()
    return low !== before[0] || high !== before[1]
  }

  // ---- the histogram -----------------------------------------------------------------------------------------------------------

  draw(now = false) {
    const since = performance.now() - this.drawn
    if ((!now && since < DRAWN_MS) || this.canvas.offsetParent === null) return
    this.drawn = performance.now()
    const { width, height, paper, colours } = prepared(this.canvas)
    if (this.sample.length === 0) return
    const ends = [Math.min(this.sample[0], this.limits[0]), Math.max(this.sample.at(-1), this.limits[1])]
    if (this.scale.value === "log" && ends[0] <= 0) ends[0] = LEAST_LOG
    if (this.grabbed === null) this.range = ends
    const place = this.places(width)
    const counts = new Float32Array(BINS)
    for (const value of this.sample) counts[Math.max(0, Math.min(BINS - 1, Math.floor((place(value) / width) * BINS)))] += 1
    const top = Math.log1p(Math.max(...counts))
    paper.fillStyle = colours.bar
    for (const [bin, count] of counts.entries()) {
      const tall = (Math.log1p(count) / top) * (height - 4)
      paper.fillRect((bin * width) / BINS, height - tall, width / BINS, tall)
    }
    paper.fillStyle = colours.bad
    for (const limit of this.limits) paper.fillRect(place(limit) - 1, 0, 2, height)
  }

  /** From a value to its place on the canvas. */
  places(width) {
    const spread = spreadOf(this.scale.value, this.range[0])
    const span = spread(this.range[1]) || 1
    return (value) => (spread(value) / span) * width
  }

  grab(event) {
    const { width } = this.canvas.getBoundingClientRect()
    const place = this.places(width)
    const away = this.limits.map((limit) => Math.abs(place(limit) - event.offsetX))
    const nearest = away[0] < away[1] ? 0 : 1
    if (away[nearest] > NEAR) return
    this.grabbed = nearest
    this.canvas.setPointerCapture(event.pointerId)
    this.put(this.limits)
    if (this.mode.value !== "fixed") {
      this.mode.value = "fixed"
      for (const input of this.inputs) input.disabled = false
      this.put(this.limits)
    }
  }

  drag(event) {
    if (this.grabbed === null) return
    const { width } = this.canvas.getBoundingClientRect()
    const place = this.places(width)
    let [from, to] = this.range // the place ascends with the value: halves find it, whatever the scale is
    for (let n = 0; n < 40; ++n) {
      const middle = (from + to) / 2
      if (place(middle) < event.offsetX) from = middle
      else to = middle
    }
    this.inputs[this.grabbed].value = String(Number(((from + to) / 2).toPrecision(5)))
    this.typed()
    this.draw(true)
  }
}

/** A canvas as large as it is shown, empty, and the colours of the page. */
export function prepared(canvas) {
  const { width, height } = canvas.getBoundingClientRect()
  const ratio = Math.max(1, window.devicePixelRatio)
  canvas.width = Math.max(1, Math.round(width * ratio))
  canvas.height = Math.max(1, Math.round(height * ratio))
  const paper = canvas.getContext("2d")
  paper.scale(ratio, ratio)
  const style = getComputedStyle(canvas)
  const [bar, bad, ink] = ["--bar", "--bad", "--ink"].map((name) => style.getPropertyValue(name).trim())
  return { width, height, paper, colours: { bar, bad, ink } }
}
