// SPDX-License-Identifier: Apache-2.0
// A region of the image, drawn by a person or typed: sum, mean, maximum and profile of its pixels, live.
import { prepared } from "./contrast.js"

const SVG = "http://www.w3.org/2000/svg"
const FORMS = { rectangle: "rect", ellipse: "ellipse", line: "line" }
const byId = (name) => document.getElementById(name)
const named = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 2 })

export class Regions {
  /** `place`: where the frame of the image lies on the page, and between which pixels; null: there is none. `picked`: called with a point that was asked for. */
  constructor(place, picked) {
    this.place = place
    this.picked = picked
    this.over = byId("over")
    this.form = byId("region")
    this.corners = ["x0", "y0", "x1", "y1"].map(byId)
    this.values = byId("region_values")
    this.chart = byId("region_profile")
    this.pick = byId("pick")
    this.from = null
    this.form.addEventListener("change", () => this.redraw())
    for (const corner of this.corners) corner.addEventListener("change", () => this.redraw())
    this.pick.addEventListener("click", () => this.setPicking(this.pick.getAttribute("aria-pressed") !== "true"))
    this.over.addEventListener("pointerdown", (event) => this.begin(event))
    this.over.addEventListener("pointermove", (event) => this.move(event))
    this.over.addEventListener("pointerup", () => (this.from = null))
    this.redraw()
  }

  get kind() {
    return this.form.value
  }

  /** The corners in pixels, null while there is none. */
  get bounds() {
    const typed = this.corners.map((corner) => corner.value)
    return this.kind === "none" || typed.includes("") ? null : typed.map(Number)
  }

  setPicking(on) {
    this.pick.setAttribute("aria-pressed", String(on))
    this.redraw()
  }

  /** What is left, top, width and height of the pixels of the region in an image of this size; null: nothing. */
  rectangle([columns, rows]) {
    if (this.bounds === null) return null
    const [x0, y0, x1, y1] = this.bounds
    const within = (value, most) => Math.max(0, Math.min(most, value))
    const [left, right] = [within(Math.floor(Math.min(x0, x1)), columns), within(Math.floor(Math.max(x0, x1)) + 1, columns)]
    const [top, bottom] = [within(Math.floor(Math.min(y0, y1)), rows), within(Math.floor(Math.max(y0, y1)) + 1, rows)]
    return right > left && bottom > top ? { x: left, y: top, width: right - left, height: bottom - top } : null
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------------------

  point(event) {
    const { box, x, y } = this.place()
    return [x[0] + (event.offsetX / box.width) * (x[1] - x[0]), y[0] + (event.offsetY / box.height) * (y[1] - y[0])]
  }

  begin(event) {
    if (this.place() === null) return
    const at = this.point(event)
    if (this.pick.getAttribute("aria-pressed") === "true") {
      this.setPicking(false)
      this.picked(at)
      return
    }
    this.over.setPointerCapture(event.pointerId)
    this.from = at
    this.put([...at, ...at])
  }

  move(event) {
    if (this.from !== null) this.put([...this.from, ...this.point(event)])
  }

  put(bounds) {
    for (const [number, value] of bounds.entries()) this.corners[number].value = String(Math.floor(value))
    this.redraw()
  }

  redraw() {
    const place = this.place()
    const picking = this.pick.getAttribute("aria-pressed") === "true"
    this.over.classList.toggle("drawing", this.kind !== "none" || picking)
    this.over.replaceChildren()
    if (this.kind === "none") {
      this.chart.hidden = true
      this.values.innerHTML = "<p class='quiet'>Choose a form, and drag on the image, or type its corners.</p>"
    }
    if (place === null) return
    const { box, x, y } = place
    Object.assign(this.over.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` })
    if (this.bounds === null) return
    const across = (value) => ((value - x[0]) / (x[1] - x[0])) * box.width
    const down = (value) => ((value - y[0]) / (y[1] - y[0])) * box.height
    const [x0, y0, x1, y1] = this.bounds
    const [left, right, top, bottom] = [across(Math.min(x0, x1)), across(Math.max(x0, x1) + 1), down(Math.min(y0, y1)), down(Math.max(y0, y1) + 1)]
    const facts = {
      rectangle: { x: left, y: top, width: right - left, height: bottom - top },
      ellipse: { cx: (left + right) / 2, cy: (top + bottom) / 2, rx: (right - left) / 2, ry: (bottom - top) / 2 },
      line: { x1: across(x0 + 0.5), y1: down(y0 + 0.5), x2: across(x1 + 0.5), y2: down(y1 + 0.5) },
    }[this.kind]
    const shape = document.createElementNS(SVG, FORMS[this.kind])
    for (const [name, value] of Object.entries(facts)) shape.setAttribute(name, String(value))
    this.over.append(shape)
  }

  // ---- its pixels ----------------------------------------------------------------------------------------------------------------

  /** Says what the pixels of an image are, and returns their mean; the image shows `view` (first column, first row, …, pixels of a block's side). */
  measure(image, facts) {
    const region = this.rectangle(facts.size)
    if (region === null) return null
    const [left, top, , , step] = facts.view
    const inside = this.kind === "line" ? this.alongLine(image, left, top, step) : this.within(image, left, top, step)
    const known = inside.filter(({ value }) => value !== null)
    const sum = known.reduce((total, { value }) => total + value, 0)
    const most = known.reduce((best, { value }) => Math.max(best, value), -Infinity)
    const without = inside.length - known.length
    const rows = [
      ["frame", named(facts.frame)],
      [step > 1 ? `blocks of ${step} × ${step}` : "pixels", named(known.length) + (without ? `, and ${named(without)} without a value` : "")],
      ["sum", known.length ? named(sum) : "no value"],
      ["mean", known.length ? named(sum / known.length) : "no value"],
      ["maximum", known.length ? named(most) : "no value"],
    ]
    this.values.innerHTML = `<dl class="values">${rows.map(([name, value]) => `<dt>${name}</dt><dd data-region="${name}">${value}</dd>`).join("")}</dl>`
    this.chart.hidden = false
    this.profile(inside)
    return known.length ? sum / known.length : null
  }

  valueAt(image, column, row) {
    const [rows, columns] = image.shape
    if (column < 0 || row < 0 || column >= columns || row >= rows) return undefined
    const value = image.values[row * columns + column]
    return value === image.none || Number.isNaN(value) ? null : value
  }

  within(image, left, top, step) {
    const [x0, y0, x1, y1] = this.bounds
    const [fromX, toX] = [Math.min(x0, x1), Math.max(x0, x1)]
    const [fromY, toY] = [Math.min(y0, y1), Math.max(y0, y1)]
    const [middleX, middleY, radiusX, radiusY] = [(fromX + toX) / 2, (fromY + toY) / 2, (toX - fromX + 1) / 2, (toY - fromY + 1) / 2]
    const found = []
    for (let row = Math.floor((fromY - top) / step); row <= Math.floor((toY - top) / step); ++row) {
      for (let column = Math.floor((fromX - left) / step); column <= Math.floor((toX - left) / step); ++column) {
        const [x, y] = [left + (column + 0.5) * step - 0.5, top + (row + 0.5) * step - 0.5]
        if (this.kind === "ellipse" && ((x - middleX) / radiusX) ** 2 + ((y - middleY) / radiusY) ** 2 > 1) continue
        const value = this.valueAt(image, column, row)
        if (value !== undefined) found.push({ value, at: x })
      }
    }
    return found
  }

  alongLine(image, left, top, step) {
    const [x0, y0, x1, y1] = this.bounds
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)) / step))
    const found = []
    for (let n = 0; n <= steps; ++n) {
      const [x, y] = [x0 + ((x1 - x0) * n) / steps, y0 + ((y1 - y0) * n) / steps]
      const value = this.valueAt(image, Math.floor((Math.round(x) - left) / step), Math.floor((Math.round(y) - top) / step))
      if (value !== undefined) found.push({ value, at: Math.hypot(x - x0, y - y0) })
    }
    return found
  }

  /** Along a line its values; of an area the mean of each column. */
  profile(inside) {
    const sums = new Map()
    for (const { value, at } of inside) {
      if (value === null) continue
      const [total, count] = sums.get(at) ?? [0, 0]
      sums.set(at, [total + value, count + 1])
    }
    const points = Array.from(sums, ([at, [total, count]]) => [at, total / count]).sort((a, b) => a[0] - b[0])
    const { width, height, paper, colours } = prepared(this.chart)
    if (points.length < 2) return
    const [first, last] = [points[0][0], points.at(-1)[0]]
    const [least, most] = points.reduce(([a, b], [, value]) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity])
    paper.strokeStyle = colours.bar
    paper.beginPath()
    for (const [at, value] of points) {
      paper.lineTo(2 + ((at - first) / (last - first || 1)) * (width - 4), height - 14 - ((value - least) / (most - least || 1)) * (height - 18))
    }
    paper.stroke()
    paper.fillStyle = colours.ink
    paper.font = "11px system-ui, sans-serif"
    paper.fillText(`${named(first)} … ${named(last)} pixels; ${named(least)} … ${named(most)}`, 4, height - 3)
  }
}
