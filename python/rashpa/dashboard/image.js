// SPDX-License-Identifier: Apache-2.0
// The image of the page: asks for what its axes show, no finer than the screen, makes colours of values and gives them to Bokeh to draw.
// One request is under way while the image before is drawn. A slow browser asks for less, one that nobody looks at for nothing.
import { largestOfBlocks, parse, rgbaOf, tableOf, topOf } from "./image_values.js"

const IDLE_MS = 250
const SLOW = 0.2 // how fast the largest colour follows
const SHOWN = { silent: false, sync: false } // a change that the server need not know
const sleep = (ms) => new Promise((then) => setTimeout(then, ms))
const drawn = () => new Promise((then) => requestAnimationFrame(then))
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
const named = (count) => count.toLocaleString("en-US")

class LiveImage {
  constructor(doc) {
    const model = (name) => doc.get_model_by_name(name)
    Object.assign(this, { plot: model("image_plot"), curve: model("curve"), data: model("image_data") })
    Object.assign(this, { lost: model("lost"), peaks: model("peaks"), rings: model("rings"), beam: model("beam"), profile: model("profile") })
    this.choice = Object.fromEntries(["buffer", "what", "colours", "scale"].map((name) => [name, model(name)]))
    this.scales = { log: model("scale_log"), linear: model("scale_linear") }
    this.bars = { log: model("bar_log"), linear: model("bar_linear") }
    this.axes = { x: model("curve_x"), y: model("curve_y") }
    this.hold = model("hold")
    this.facts = document.getElementById("image_facts")
    this.told = { way: "", going: false, beams: {} }
    this.number = 0
    this.times = []
    this.forget()
    const on = (signal, work) => signal.connect(work)
    on(this.plot.properties.tags.change, () => this.hear())
    on(this.choice.buffer.properties.value.change, () => this.forget())
    on(this.choice.what.properties.value.change, () => this.forget())
    on(this.choice.colours.properties.value.change, () => this.recolour())
    on(this.choice.scale.properties.value.change, () => this.recolour())
    on(this.hold.properties.active.change, () => this.holdOrGoOn())
    for (const range of [this.plot.x_range, this.plot.y_range]) on(range.change, () => this.look())
    for (const name of ["inner_width", "inner_height", "aspect_ratio"]) on(this.plot.properties[name].change, () => this.keepShape())
    this.keepShape()
    this.hear()
  }

  hear() {
    if (this.plot.tags.length) this.told = JSON.parse(this.plot.tags[0])
  }

  forget() {
    this.size = null
    this.last = null // what is shown now
    this.whole = null // what is held, pixel by pixel
    this.high = 0
    this.sum = null
    this.mean = null
    this.selection = [this.choice.buffer.value, this.choice.what.value].join("\n")
    this.drawnLast = null
    this.times = []
    if (this.number > 0) this.clear()
    if (this.hold.active) this.holdOrGoOn()
  }

  /** What was shown is not what is asked for now. */
  clear() {
    const Rgba = this.data.data.image[0].constructor
    const nothing = { image: [new Rgba(new Uint32Array(1), [1, 1])], value: [new Float32Array(1)], x: [0], y: [0], dw: [1], dh: [1] }
    this.data.setv({ data: { ...nothing, number: [this.number] } }, SHOWN)
    put(this.lost, { left: [], right: [], top: [], bottom: [] })
    put(this.peaks, { x: [], y: [] })
    this.facts.innerHTML = "<p class='quiet'>No such image yet.</p>"
  }

  // ---- asking ------------------------------------------------------------------------------------------------------------------

  /** What the axes show, in whole blocks no smaller than a pixel of the screen. */
  part() {
    if (this.size === null) return { x: 0, y: 0, width: 0, height: 0, step: this.stepOf(0) }
    const [width, height] = this.size
    const [left, right] = [this.plot.x_range.start, this.plot.x_range.end].sort((a, b) => a - b)
    const [top, bottom] = [this.plot.y_range.start, this.plot.y_range.end].sort((a, b) => a - b)
    const least = (value, most) => Math.max(0, Math.min(most - 1, Math.floor(value)))
    const first = [least(left, width), least(top, height)]
    const last = [Math.max(first[0] + 1, Math.min(width, Math.ceil(right))), Math.max(first[1] + 1, Math.min(height, Math.ceil(bottom)))]
    const step = this.stepOf(Math.max((right - left) / this.pixels(0), (bottom - top) / this.pixels(1)))
    const [x, y] = first.map((value) => Math.floor(value / step) * step)
    return { x, y, width: last[0] - x, height: last[1] - y, step }
  }

  pixels(axis) {
    return Math.max(100, (axis ? this.plot.inner_height : this.plot.inner_width) || 600) * Math.max(1, window.devicePixelRatio)
  }

  stepOf(pixels) {
    return pixels > 0 ? Math.max(1, Math.min(256, Math.ceil(pixels - 0.01))) : 256 // the first only says how large the image is
  }

  /** Where that is to be had; null: nothing is to be shown. */
  wanted(part) {
    const [node, buffer] = this.choice.buffer.value.split("\n")
    if (!this.told.way || !this.told.going || !buffer) return null
    const of = this.choice.what.value === "sum" ? "accepted" : this.choice.what.value
    const query = new URLSearchParams({ node, buffer, of, ...part })
    const same = query.toString()
    if (this.last !== null && this.last.same === same) query.set("after", this.last.view.facts.index)
    return { address: `${this.told.way}?${query}`, same, selection: this.selection }
  }

  async ask(wanted) {
    try {
      const answer = await fetch(wanted.address, { cache: "no-store" })
      return answer.status === 200 ? parse(await answer.arrayBuffer()) : null
    } catch (error) {
      return null // the page's server is gone; Bokeh says so
    }
  }

  async run() {
    let coming = null
    for (;;) {
      await drawn()
      const wanted = this.hold.active ? null : this.wanted(this.part())
      if (wanted === null) {
        coming = null
        await sleep(IDLE_MS)
        continue
      }
      if (coming === null) coming = { wanted, answer: this.ask(wanted) }
      const asked = coming
      const view = await asked.answer
      coming = null
      if (view === null) {
        await sleep(IDLE_MS)
        continue
      }
      if (this.hold.active || asked.wanted.selection !== this.selection) continue
      if (this.size === null || this.size.join() !== view.facts.size.join()) {
        this.fit(view.facts.size)
        continue
      }
      this.last = { view, same: asked.wanted.same }
      const next = this.wanted(this.part())
      if (next !== null) coming = { wanted: next, answer: this.ask(next) }
      this.show(view, view.arrays.image)
    }
  }

  // ---- holding -----------------------------------------------------------------------------------------------------------------

  /** The newest whole image, so that one may look at every pixel of it for as long as one wants. */
  async holdOrGoOn() {
    this.whole = null
    if (!this.hold.active || this.size === null || this.choice.what.value === "sum") return // the sum stays as it is
    const wanted = this.wanted({ x: 0, y: 0, width: 0, height: 0, step: 1 })
    const view = wanted === null ? null : await this.ask({ address: wanted.address })
    if (view === null || !this.hold.active || wanted.selection !== this.selection) return
    this.whole = view
    this.look()
  }

  /** Of what is held, what the axes show. */
  look() {
    if (this.whole === null || this.looking) return
    this.looking = true
    requestAnimationFrame(() => {
      this.looking = false
      if (this.whole === null) return
      const { x, y, width, height, step } = this.part()
      const facts = { ...this.whole.facts, view: [x, y, x + width, y + height, step] }
      const image = largestOfBlocks(this.whole.arrays.image, x, y, width, height, step)
      this.show({ facts, arrays: { ...this.whole.arrays, image } }, image)
    })
  }

  // ---- showing -----------------------------------------------------------------------------------------------------------------

  fit(size) {
    this.size = size
    const [width, height] = size
    for (const [range, start, end] of [[this.plot.x_range, 0, width], [this.plot.y_range, height, 0]]) {
      range.setv({ start, end, reset_start: start, reset_end: end })
    }
    const shape = Math.min(2.5, Math.max(0.6, width / height))
    if (Math.abs(this.plot.aspect_ratio - shape) > 1e-6) this.plot.setv({ aspect_ratio: shape }, SHOWN)
  }

  /** Pixels are squares, however wide the page is: what lies around the image has the same height at every width. */
  keepShape() {
    const { inner_width, inner_height, outer_height, aspect_ratio } = this.plot
    if (!inner_width || !inner_height || typeof aspect_ratio !== "number") return
    const height = Math.round(inner_width / aspect_ratio + outer_height - inner_height)
    if (Math.abs(height - outer_height) > 1) this.plot.setv({ height }, SHOWN)
  }

  show(view, image) {
    const { facts, arrays } = view
    const [rows, columns] = image.shape
    const { shown, images } = this.summed(facts, image)
    this.follow(topOf(shown))
    this.draw(shown, facts, [rows, columns])
    const flat = facts.lost
    put(this.lost, {
      left: flat.map((one) => one[0]), right: flat.map((one) => one[0] + one[2]),
      top: flat.map((one) => one[1]), bottom: flat.map((one) => one[1] + one[3]),
    })
    const peaks = arrays.peaks === undefined ? [[], []] : arrays.peaks.rows().map((row) => Array.from(row, (at) => at + 0.5))
    put(this.peaks, { x: peaks[0], y: peaks[1] })
    this.showBeam(facts.size)
    this.showCurve(facts, arrays)
    this.say(facts, arrays, images)
  }

  draw(image, facts, [rows, columns]) {
    const [x, y, , , step] = facts.view
    const rgba = rgbaOf(image, this.table)
    const Rgba = this.data.data.image[0].constructor
    this.number += 1
    this.data.setv({
      data: {
        image: [new Rgba(rgba, [rows, columns])], value: [image.values],
        x: [x], y: [y], dw: [columns * step], dh: [rows * step], number: [this.number],
      },
    }, SHOWN)
    this.drawnLast = { image, facts, shape: [rows, columns] }
    this.times = [...this.times.slice(-19), performance.now()]
  }

  /** What is shown, and of how many images. */
  summed(facts, image) {
    if (this.choice.what.value !== "sum") return { shown: image, images: 1 }
    const same = facts.view.join()
    if (this.sum === null || this.sum.same !== same) this.sum = { same, total: new Float64Array(image.values.length), images: 0, index: null }
    if (this.sum.index !== facts.index) {
      const { total } = this.sum
      const { values, none } = image
      for (let i = 0; i < total.length; ++i) total[i] += values[i] === none ? NaN : values[i]
      this.sum.images += 1
      this.sum.index = facts.index
    }
    return { shown: { ...image, values: Float32Array.from(this.sum.total), none: NaN }, images: this.sum.images }
  }

  /** The largest colour, slowly, so that the picture does not flicker. */
  follow(top) {
    this.high = !this.high || top > 4 * this.high ? top : this.high + SLOW * (top - this.high)
    const scale = this.scales[this.choice.scale.value]
    if (this.table !== undefined && Math.abs(scale.high - this.high) <= 0.05 * this.high) return
    for (const one of Object.values(this.scales)) one.setv({ high: this.high }, SHOWN)
    this.table = tableOf(this.choice.scale.value, scale)
  }

  recolour() {
    const name = this.choice.scale.value
    const palette = this.choice.colours.tags[0][this.choice.colours.value]
    for (const [kind, scale] of Object.entries(this.scales)) {
      if (scale.palette !== palette) scale.setv({ palette }, SHOWN)
      if (this.bars[kind].visible !== (kind === name)) this.bars[kind].setv({ visible: kind === name }, SHOWN)
    }
    this.table = tableOf(name, this.scales[name])
    if (this.drawnLast) this.draw(this.drawnLast.image, this.drawnLast.facts, this.drawnLast.shape)
  }

  showBeam(size) {
    const known = this.told.beams[this.choice.buffer.value.split("\n")[1]]
    const here = known !== undefined && known.size.join() === size.join()
    const rings = here ? known.rings : []
    put(this.beam, { x: here ? [known.x] : [], y: here ? [known.y] : [] })
    put(this.rings, {
      x: rings.map(() => known.x), y: rings.map(() => known.y), radius: rings.map((ring) => ring.radius),
      top: rings.map((ring) => known.y - ring.radius), text: rings.map((ring) => `${ring.angstrom} Å`),
    })
  }

  showCurve(facts, arrays) {
    const name = Object.keys(facts.axes).find((one) => arrays[`profile_${one}`] !== undefined)
    if (this.curve.visible !== (name !== undefined)) this.curve.setv({ visible: name !== undefined }, SHOWN)
    if (name === undefined) return
    const [x, y] = arrays[`profile_${name}`].rows()
    if (this.mean === null || this.mean.total.length !== y.length) this.mean = { total: new Float64Array(y.length), images: 0, index: null }
    if (this.mean.index !== facts.index) {
      this.mean.index = facts.index
      this.mean.images += 1
      for (let i = 0; i < y.length; ++i) this.mean.total[i] += Number.isFinite(y[i]) ? y[i] : 0
    }
    const says = { x: facts.axes[name].replaceAll("_", " "), y: name }
    for (const axis of ["x", "y"]) if (this.axes[axis].axis_label !== says[axis]) this.axes[axis].setv({ axis_label: says[axis] }, SHOWN)
    this.profile.setv({ data: { x, y, mean: this.mean.total.map((value) => value / this.mean.images) } }, SHOWN)
  }

  say(facts, arrays, images) {
    const step = facts.view[4]
    const seconds = (this.times.at(-1) - this.times[0]) / 1e3
    const parts = [`frame ${named(facts.frame)}, image ${named(facts.index)}`]
    if (facts.vetoed !== null) parts.push(`vetoed: ${escaped(facts.vetoed.replaceAll("_", " "))}`)
    if (facts.arriving) parts.push("as it arrived")
    parts.push(facts.partial ? "<span class='warn'>◩ partial: lost lines are hatched</span>" : "complete")
    if (images > 1) parts.push(`sum of ${named(images)} images shown`)
    let text = `${parts.join(", ")}; ${facts.size[0]} × ${facts.size[1]} pixels`
    text += step > 1 ? `, a point is the largest of ${step} × ${step}` : ", pixel by pixel"
    if (arrays.peaks !== undefined) text += `; ${arrays.peaks.shape[1]} peaks`
    if (this.whole !== null) text += "; held"
    else if (seconds > 0 && ["accepted", "sum"].includes(this.choice.what.value)) text += `; ${((this.times.length - 1) / seconds).toFixed(1)} images/s shown`
    this.facts.innerHTML = `<p>${text}. Grey: pixels without a value.</p>`
  }
}

/** Where it differs from what is there. */
function put(source, data) {
  const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i])
  if (Object.entries(data).some(([name, values]) => !same(values, Array.from(source.data[name])))) source.setv({ data }, SHOWN)
}

for (;;) {
  const doc = window.Bokeh?.documents?.[0]
  if (doc?.get_model_by_name("image_plot")) {
    window.rashpaImage = new LiveImage(doc)
    window.rashpaImage.run()
    break
  }
  await sleep(20)
}
