// SPDX-License-Identifier: Apache-2.0
// What many images make together, of those that this page has seen: their azimuthal curves as a waterfall, their peaks by radius and by intensity, and
// a number of each at its place in a scan.
import { prepared } from "./contrast.js"

const CURVES = 200
const PEAKS = 20000
const BINS = 60
const DRAWN_MS = 500
const ASK_MS = 2000
const DECIDED = [null, 1, 0, NaN] // by the code of a decision: open, accepted, vetoed, errored
const byId = (name) => document.getElementById(name)
const named = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 3 })

/** Least and largest of those that are numbers; null: none is. */
function rangeOf(values) {
  let [least, most] = [Infinity, -Infinity]
  for (const value of values) {
    if (!Number.isFinite(value)) continue
    if (value < least) least = value
    if (value > most) most = value
  }
  return least <= most ? [least, most] : null
}

/** Rows of values as colours on a canvas, the first row at its top. A value that is no number is transparent. */
function paint(canvas, rows, columns, valueAt, [least, most], palette) {
  const { paper, width, height } = prepared(canvas)
  const small = new OffscreenCanvas(columns, rows)
  const pixels = new ImageData(columns, rows)
  const colours = new Uint32Array(pixels.data.buffer)
  const packed = palette.map((colour) => 0xff000000 | Number.parseInt(colour.slice(5, 7) + colour.slice(3, 5) + colour.slice(1, 3), 16))
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const value = valueAt(row, column)
      if (!Number.isFinite(value)) continue
      const share = most > least ? (value - least) / (most - least) : 0
      colours[row * columns + column] = packed[Math.max(0, Math.min(packed.length - 1, Math.floor(share * packed.length)))]
    }
  }
  small.getContext("2d").putImageData(pixels, 0, 0)
  paper.imageSmoothingEnabled = false
  paper.drawImage(small, 0, 0, width, height)
}

/** Draws at most twice a second, and only where it is seen. */
class Drawing {
  constructor(canvas, said) {
    Object.assign(this, { canvas: byId(canvas), said: byId(said), drawn: 0 })
  }

  draw(palette, now = false) {
    if ((!now && performance.now() - this.drawn < DRAWN_MS) || this.canvas.offsetParent === null) return
    this.drawn = performance.now()
    prepared(this.canvas) // what was drawn before goes, also where there is nothing to draw
    const text = this.paint(palette)
    if (this.said.textContent !== text) this.said.textContent = text
  }
}

class Waterfall extends Drawing {
  constructor() {
    super("waterfall", "waterfall_said")
    this.forget()
  }

  forget() {
    Object.assign(this, { curves: [], frames: [], x: null, axis: "" })
  }

  add(frame, axis, x, y) {
    if (this.x === null || this.x.length !== x.length) Object.assign(this, { curves: [], frames: [], x: Float32Array.from(x), axis })
    if (this.frames.length > 0 && this.frames.at(-1) >= frame) return
    this.curves.push(Float32Array.from(y))
    this.frames.push(frame)
    if (this.curves.length > CURVES) {
      this.curves.shift()
      this.frames.shift()
    }
  }

  paint(palette) {
    if (this.curves.length === 0) return "No azimuthal curve yet: the kernel azimuthal makes them."
    const ranges = this.curves.map(rangeOf).filter((range) => range !== null)
    if (ranges.length === 0) return "The curves have no values."
    const range = [Math.min(...ranges.map(([least]) => least)), Math.max(...ranges.map(([, most]) => most))]
    paint(this.canvas, this.curves.length, this.x.length, (row, column) => this.curves[row][column], range, palette)
    const [from, to] = [this.x[0], this.x.at(-1)].map(named)
    return `${this.curves.length} curves, the newest at the bottom: frames ${this.frames[0]} … ${this.frames.at(-1)}; ${this.axis} ${from} … ${to}; values ${named(range[0])} … ${named(range[1])}`
  }
}

class PeakHistogram extends Drawing {
  /** `what`: the name of its number; `log`: its bins are those of a logarithm. */
  constructor(canvas, what, log) {
    super(canvas, `${canvas}_said`)
    Object.assign(this, { what, log })
    this.forget()
  }

  forget() {
    this.values = []
  }

  add(values) {
    this.values.push(...values)
    if (this.values.length > PEAKS) this.values.splice(0, this.values.length - PEAKS)
  }

  paint() {
    const known = this.values.filter((value) => Number.isFinite(value) && (!this.log || value > 0))
    const range = rangeOf(known)
    if (range === null) return `No peak with a known ${this.what} yet.`
    const { width, height, paper, colours } = prepared(this.canvas)
    const spread = (value) => (this.log ? Math.log(value) : value)
    const [from, span] = [spread(range[0]), spread(range[1]) - spread(range[0]) || 1]
    const counts = new Uint32Array(BINS)
    for (const value of known) counts[Math.min(BINS - 1, Math.floor(((spread(value) - from) / span) * BINS))] += 1
    const top = Math.max(...counts)
    paper.fillStyle = colours.bar
    for (const [bin, count] of counts.entries()) paper.fillRect((bin * width) / BINS, height - (count / top) * (height - 4), width / BINS - 1, (count / top) * (height - 4))
    return `${named(known.length)} peaks by ${this.what}, ${named(range[0])} … ${named(range[1])}${this.log ? ", on a logarithmic axis" : ""}; the highest bar has ${named(top)}`
  }
}

class ScanMap extends Drawing {
  constructor() {
    super("scan_map", "scan_said")
    this.choice = byId("scan_number")
    this.choice.addEventListener("change", () => this.draw(this.palette, true))
    Object.assign(this, { grid: null, key: "", points: new Map(), decisions: null, asked: 0 })
  }

  forget() {
    this.points = new Map() // by name of number: a value for each place of the grid
    this.decisions = null
    for (const option of Array.from(this.choice.options).slice(1)) option.remove()
  }

  /** `grid`: rows, columns, order of the scan; of the buffer: every and phase, null where its images are dealt. null: the run names none. */
  follow(grid) {
    const key = JSON.stringify(grid)
    if (key === this.key) return
    this.key = key
    this.grid = grid
    this.forget()
  }

  /** The place of a frame: the scan begins again when its grid is full. */
  placeOf(frame) {
    const { rows, columns, order } = this.grid
    const number = frame % (rows * columns)
    const [row, column] = [Math.floor(number / columns), number % columns]
    return row * columns + (order === "snake" && row % 2 === 1 ? columns - 1 - column : column)
  }

  put(name, frame, value) {
    if (this.grid === null || value === null || !Number.isFinite(value)) return
    if (!this.points.has(name)) {
      this.points.set(name, new Float32Array(this.grid.rows * this.grid.columns).fill(NaN))
      this.choice.append(new Option(name.replaceAll("_", " "), name))
    }
    this.points.get(name)[this.placeOf(frame)] = value
  }

  /** The decision on each image of the run is known to its node, also on those that no page has seen. */
  async ask(address) {
    if (this.grid === null || this.grid.every === null || this.choice.value !== "" || this.canvas.offsetParent === null || performance.now() - this.asked < ASK_MS) return
    this.asked = performance.now()
    const key = this.key
    const answer = await fetch(address, { cache: "no-store" }).catch(() => null)
    if (answer === null || answer.status !== 200) return
    const codes = new Uint8Array(await answer.arrayBuffer())
    if (key !== this.key) return
    const { rows, columns, every, phase } = this.grid
    this.decisions = new Float32Array(rows * columns).fill(NaN)
    for (let image = 0; image < codes.length; ++image) {
      const decided = DECIDED[codes[image]]
      if (decided !== null && decided !== undefined) this.decisions[this.placeOf(phase + image * every)] = decided
    }
  }

  paint(palette) {
    this.palette = palette
    if (this.grid === null) return "The run names no grid: scan = [rows, columns] in [run]."
    const values = this.choice.value === "" ? this.decisions : this.points.get(this.choice.value)
    const range = values == null ? null : this.choice.value === "" ? [0, 1] : rangeOf(values)
    if (range === null) return "Nothing is known of this number yet."
    const { rows, columns } = this.grid
    paint(this.canvas, rows, columns, (row, column) => values[row * columns + column], range, palette)
    const known = values.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0)
    const said = this.choice.value === "" ? "accepted in the brightest colour, vetoed in the darkest" : `${named(range[0])} … ${named(range[1])}`
    return `${rows} rows × ${columns} columns, ${named(known)} places known: ${said}`
  }
}

export class ImageMaps {
  /** `palette`: returns the colours of now; `address`: of the decisions on the images of the chosen buffer, null: there is none. */
  constructor(palette, address) {
    Object.assign(this, { palette, address, seen: null })
    this.waterfall = new Waterfall()
    this.radii = new PeakHistogram("peak_radii", "radius in pixels", false)
    this.intensities = new PeakHistogram("peak_intensities", "value at the peak", true)
    this.scan = new ScanMap()
    setInterval(() => this.draw(), DRAWN_MS)
  }

  forget() {
    for (const one of [this.waterfall, this.radii, this.intensities, this.scan]) one.forget()
    this.seen = null
  }

  /** What an accepted image has. `beam`: its centre on the image, null: not known. */
  add(facts, arrays, beam) {
    if (this.seen === facts.index) return
    this.seen = facts.index
    const name = Object.keys(facts.axes).find((one) => arrays[`profile_${one}`] !== undefined)
    if (name !== undefined) this.waterfall.add(facts.frame, facts.axes[name].replaceAll("_", " "), ...arrays[`profile_${name}`].rows())
    for (const [column, value] of Object.entries(facts.columns)) this.scan.put(column, facts.frame, value)
    if (arrays.peaks === undefined) return
    const [x, y] = arrays.peaks.rows()
    this.scan.put("peaks", facts.frame, x.length)
    if (beam !== null) this.radii.add(Array.from(x, (at, n) => Math.hypot(at + 0.5 - beam.x, y[n] + 0.5 - beam.y)))
    this.intensities.add(Array.from(x, (at, n) => valueAt(arrays.image, facts.view, at, y[n])))
  }

  draw() {
    const palette = this.palette()
    for (const one of [this.waterfall, this.radii, this.intensities, this.scan]) one.draw(palette)
    const address = this.address()
    if (address !== null) this.scan.ask(address)
  }
}

/** The largest value of the points of the picture within a pixel of this place, NaN where it shows another part. Whole numbers are the middles of pixels. */
function valueAt(image, [left, top, right, bottom, step], x, y) {
  let best = NaN
  for (const row of [y - 1, y, y + 1].map(Math.round)) {
    for (const column of [x - 1, x, x + 1].map(Math.round)) {
      if (column < left || column >= right || row < top || row >= bottom) continue
      const value = image.values[Math.floor((row - top) / step) * image.shape[1] + Math.floor((column - left) / step)]
      if (value !== image.none && !(value <= best)) best = value
    }
  }
  return best
}
