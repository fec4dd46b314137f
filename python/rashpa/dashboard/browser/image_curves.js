// SPDX-License-Identifier: Apache-2.0
// Numbers of the images that this page has seen, image by image: those that the pipeline makes, peaks, and the mean of the region.
import { prepared } from "./contrast.js"

const MOST = 1000
const DRAWN_MS = 500
const byId = (name) => document.getElementById(name)
const named = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 2 })

export class ImageCurves {
  constructor() {
    this.choice = byId("scalar")
    this.canvas = byId("scalars")
    this.said = byId("scalar_said")
    this.choice.addEventListener("change", () => this.draw(true))
    this.forget()
  }

  forget() {
    this.points = new Map() // by name: frames and values
    this.drawn = 0
    this.choice.replaceChildren()
    this.said.textContent = "No image yet."
  }

  /** What is known of an accepted image. */
  add(facts, arrays) {
    const values = { ...facts.columns }
    if (arrays.peaks !== undefined) values.peaks = arrays.peaks.shape[1]
    for (const [name, value] of Object.entries(values)) this.put(name, facts.frame, value)
  }

  put(name, frame, value) {
    if (value === null || !Number.isFinite(value)) return
    if (!this.points.has(name)) {
      this.points.set(name, [])
      this.choice.append(new Option(name.replaceAll("_", " "), name))
    }
    const points = this.points.get(name)
    if (points.length > 0 && points.at(-1)[0] >= frame) return
    points.push([frame, value])
    if (points.length > MOST) points.shift()
    this.draw()
  }

  draw(now = false) {
    const points = this.points.get(this.choice.value) ?? []
    if ((!now && performance.now() - this.drawn < DRAWN_MS) || this.canvas.offsetParent === null || points.length === 0) return
    this.drawn = performance.now()
    const { width, height, paper, colours } = prepared(this.canvas)
    const [first, last] = [points[0][0], points.at(-1)[0]]
    const [least, most] = points.reduce(([a, b], [, value]) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity])
    paper.fillStyle = colours.bar
    for (const [frame, value] of points) {
      const x = 3 + ((frame - first) / (last - first || 1)) * (width - 6)
      const y = height - 5 - ((value - least) / (most - least || 1)) * (height - 10)
      paper.fillRect(x - 1.5, y - 1.5, 3, 3)
    }
    const text = `${points.length} images seen, frames ${named(first)} … ${named(last)}: ${named(least)} … ${named(most)}, the last ${named(points.at(-1)[1])}`
    this.said.textContent = text
  }
}
