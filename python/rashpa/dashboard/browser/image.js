// SPDX-License-Identifier: Apache-2.0
// The image of the page: asks for what its axes show, no finer than the screen, makes colours of values and gives them to Bokeh to draw.
// One request is under way while the image before is drawn. A slow browser asks for less, one that nobody looks at for nothing.
import { Contrast } from "./contrast.js"
import { largestOfBlocks, packedOf, parse, rgbaOf, sampleOf, tableOf } from "./image_values.js"
import { ImageCurves } from "./image_curves.js"
import { ImageMaps } from "./image_maps.js"
import { KeptImages } from "./kept_images.js"
import { Regions } from "./regions.js"

const IDLE_MS = 250
const REGION_MS = 500
const SHOWN = { silent: false, sync: false } // a change that the server need not know
const LIVE = ["accepted", "sum", "mean", "maximum"] // of the newest accepted images
const TOGETHER = ["sum", "mean", "maximum"]
const PLANNED = { x: null, y: null }
const sleep = (ms) => new Promise((then) => setTimeout(then, ms))
const drawn = () => new Promise((then) => requestAnimationFrame(then))
const byId = (name) => document.getElementById(name)
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
const named = (count) => count.toLocaleString("en-US")
const pressed = (button) => button.getAttribute("aria-pressed") === "true"

class LiveImage {
  constructor(doc) {
    const model = (name) => doc.get_model_by_name(name)
    Object.assign(this, { plot: model("image"), curve: model("curve"), data: model("image_data") })
    Object.assign(this, { lost: model("lost"), peaks: model("peaks"), rings: model("rings"), beam: model("beam"), profile: model("profile") })
    this.choice = Object.fromEntries(["buffer", "what", "colours", "scale", "unit"].map((name) => [name, byId(name)]))
    this.scales = { log: model("scale_log"), linear: model("scale_linear") }
    this.bars = { log: model("bar_log"), linear: model("bar_linear") }
    this.axes = { x: model("curve_x"), y: model("curve_y") }
    this.hold = byId("hold")
    this.facts = byId("image_facts")
    this.told = { way: "", decisions: "", going: false, buffers: [], beams: {}, series: null, scan: null }
    const [palettes, absent] = this.data.tags
    this.palettes = palettes
    this.reasons = [0, ...["masked", "saturated", "lost", "not written"].map((name) => packedOf(absent[name]))]
    this.number = 0
    this.times = []
    this.centre = PLANNED
    this.measured = 0
    this.contrast = new Contrast(() => this.recolour())
    this.kept = new KeptImages((view) => this.showKept(view), (image) => rgbaOf(image, this.table, this.mask()))
    this.curves = new ImageCurves()
    this.maps = new ImageMaps(() => this.palettes[this.choice.colours.value], () => this.decisions())
    this.regions = new Regions(() => this.frame(), (at) => this.moveCentre(at))
    this.forget()
    this.listen(model)
    this.recolour()
    this.keepShape()
    this.hear()
  }

  listen(model) {
    this.plot.properties.tags.change.connect(() => this.hear())
    this.choice.buffer.addEventListener("change", () => this.forget())
    this.choice.what.addEventListener("change", () => this.chooseWhat())
    for (const name of ["colours", "scale"]) this.choice[name].addEventListener("change", () => this.recolour())
    byId("scale").addEventListener("change", () => this.contrast.draw(true))
    this.choice.unit.addEventListener("change", () => this.showBeam())
    for (const name of ["beam_x", "beam_y"]) byId(name).addEventListener("change", () => this.moveCentre([Number(byId("beam_x").value), Number(byId("beam_y").value)]))
    byId("unpick").addEventListener("click", () => this.moveCentre(null))
    byId("show_mask").addEventListener("change", () => this.recolour())
    const overlays = { show_peaks: ["of_peaks"], show_lost: ["of_lost"], show_rings: [0, 1, 2, 3, 4].map((n) => `of_rings_${n}`) }
    for (const [name, drawers] of Object.entries(overlays)) {
      byId(name).addEventListener("change", (event) => {
        for (const one of drawers) model(one).setv({ visible: event.target.checked }, SHOWN)
      })
    }
    this.hold.addEventListener("click", () => {
      this.hold.setAttribute("aria-pressed", String(!pressed(this.hold)))
      this.holdOrGoOn()
    })
    byId("full").addEventListener("click", () => (document.fullscreenElement === null ? byId("image_part").requestFullscreen() : document.exitFullscreen()))
    for (const range of [this.plot.x_range, this.plot.y_range]) range.change.connect(() => this.look())
    for (const name of ["inner_width", "inner_height"]) this.plot.properties[name].change.connect(() => this.keepShape())
    new ResizeObserver(() => this.keepShape()).observe(byId("stage"))
  }

  hear() {
    if (this.plot.tags.length === 0) return
    this.told = JSON.parse(this.plot.tags[0])
    const known = Array.from(this.choice.buffer.options, (option) => [option.value, option.text])
    if (this.told.buffers.length > 0 && JSON.stringify(known) !== JSON.stringify(this.told.buffers)) {
      const before = this.choice.buffer.value
      this.choice.buffer.replaceChildren(...this.told.buffers.map(([value, text]) => new Option(text, value, false, value === before)))
      if (this.choice.buffer.value !== before) this.forget()
    }
    this.maps.scan.follow(this.grid())
    if (this.size !== null) this.showBeam()
  }

  /** The grid of the run's scan, and the images of this buffer on it. */
  grid() {
    const { scan } = this.told
    if (!scan) return null
    const [every, phase] = scan.of[this.choice.buffer.value.split("\n")[1]] ?? [null, null]
    return { rows: scan.rows, columns: scan.columns, order: scan.order, every, phase }
  }

  /** Where the decisions on all images of the buffer are to be had. */
  decisions() {
    const [node, buffer] = this.choice.buffer.value.split("\n")
    return this.told.going && buffer ? `${this.told.decisions}?${new URLSearchParams({ node, buffer })}` : null
  }

  chooseWhat() {
    if (LIVE.includes(this.choice.what.value) && LIVE.includes(this.kind)) {
      this.kind = this.choice.what.value // the same images: what is kept of them stays
      this.kept.sum = null
      if (this.last !== null && this.kept.views.length > 0) this.show(this.last.view)
      return
    }
    this.forget()
  }

  forget() {
    this.size = null
    this.last = null // what is shown now
    this.whole = null // what is held, pixel by pixel
    this.mean = null
    this.kind = this.choice.what.value
    this.maps.scan.follow(this.grid())
    this.selection = [this.choice.buffer.value, this.kind].join("\n")
    this.drawnLast = null
    this.times = []
    this.centre = PLANNED
    this.contrast.forget()
    this.kept.forget()
    this.curves.forget()
    this.maps.forget()
    if (this.number > 0) this.clear()
    if (pressed(this.hold)) this.holdOrGoOn()
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
    const of = LIVE.includes(this.kind) ? "accepted" : this.kind
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

  /** Whether the newest image is not wanted now. */
  get stands() {
    return pressed(this.hold) || this.kept.at !== null || document.hidden
  }

  async run() {
    let coming = null
    for (;;) {
      await drawn()
      const wanted = this.stands ? null : this.wanted(this.part())
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
      if (this.stands || asked.wanted.selection !== this.selection) continue
      if (this.size === null || this.size.join() !== view.facts.size.join()) {
        this.fit(view.facts.size)
        continue
      }
      this.last = { view, same: asked.wanted.same }
      const next = this.wanted(this.part())
      if (next !== null) coming = { wanted: next, answer: this.ask(next) }
      if (LIVE.includes(this.kind)) {
        this.kept.add(view)
        this.curves.add(view.facts, view.arrays)
        const { planned } = this
        this.maps.add(view.facts, view.arrays, planned === null ? null : { x: this.centre.x ?? planned.x, y: this.centre.y ?? planned.y })
      }
      this.show(view)
    }
  }

  // ---- holding -----------------------------------------------------------------------------------------------------------------

  /** The newest whole image, so that one may look at every pixel of it for as long as one wants. */
  async holdOrGoOn() {
    this.whole = null
    if (!pressed(this.hold) || this.size === null || TOGETHER.includes(this.kind)) return // these stay as they are
    const wanted = this.wanted({ x: 0, y: 0, width: 0, height: 0, step: 1 })
    const view = wanted === null ? null : await this.ask({ address: wanted.address })
    if (view === null || !pressed(this.hold) || wanted.selection !== this.selection) return
    this.whole = view
    this.look()
  }

  /** Of what is held, what the axes show. */
  look() {
    this.regions.redraw()
    if (this.whole === null || this.looking) return
    this.looking = true
    requestAnimationFrame(() => {
      this.looking = false
      if (this.whole === null) return
      const { x, y, width, height, step } = this.part()
      const facts = { ...this.whole.facts, view: [x, y, x + width, y + height, step] }
      const image = largestOfBlocks(this.whole.arrays.image, x, y, width, height, step)
      this.show({ facts, arrays: { ...this.whole.arrays, image } })
    })
  }

  /** An image that this page has seen before; null: the newest again. */
  showKept(view) {
    if (view !== null) this.show(view)
  }

  // ---- showing -----------------------------------------------------------------------------------------------------------------

  fit(size) {
    this.size = size
    const [width, height] = size
    for (const [range, start, end] of [[this.plot.x_range, 0, width], [this.plot.y_range, height, 0]]) {
      range.setv({ start, end, reset_start: start, reset_end: end })
    }
    this.keepShape()
  }

  /** Pixels are squares: the plot is as large as its place lets it be. */
  keepShape() {
    const { inner_width, inner_height, outer_width, outer_height } = this.plot
    const { clientWidth, clientHeight } = byId("stage")
    if (!inner_width || !inner_height || !clientWidth || !clientHeight) return
    const shape = this.size === null ? 1 : Math.min(4, Math.max(0.25, this.size[0] / this.size[1]))
    const [beside, above] = [outer_width - inner_width, outer_height - inner_height]
    const across = Math.max(80, Math.min(clientWidth - beside, (clientHeight - above) * shape))
    const [width, height] = [Math.floor(across + beside), Math.floor(across / shape + above)]
    if (Math.abs(width - this.plot.width) > 1 || Math.abs(height - this.plot.height) > 1) this.plot.setv({ width, height }, SHOWN)
    requestAnimationFrame(() => this.regions.redraw())
  }

  /** Where the frame lies in its place, and between which pixels. */
  frame() {
    const view = this.size === null ? null : window.Bokeh.index.find_one(this.plot)
    const box = view?.frame?.bbox
    if (!box) return null
    const [stage, plot] = [byId("stage"), view.el].map((element) => element.getBoundingClientRect())
    const { x_range, y_range } = this.plot
    return {
      box: { left: plot.left - stage.left + box.left, top: plot.top - stage.top + box.top, width: box.width, height: box.height },
      x: [x_range.start, x_range.end], y: [y_range.end, y_range.start],
    }
  }

  show(view) {
    const { facts, arrays } = view
    const { image, images } = this.together(view)
    if (this.contrast.follow(sampleOf(image))) this.retable()
    this.draw(image, facts)
    const flat = facts.lost
    put(this.lost, {
      left: flat.map((one) => one[0]), right: flat.map((one) => one[0] + one[2]),
      top: flat.map((one) => one[1]), bottom: flat.map((one) => one[1] + one[3]),
    })
    const peaks = arrays.peaks === undefined ? [[], []] : arrays.peaks.rows().map((row) => Array.from(row, (at) => at + 0.5))
    put(this.peaks, { x: peaks[0], y: peaks[1] })
    this.showBeam()
    this.showCurve(facts, arrays)
    this.say(facts, arrays, images)
    this.measure(image, facts, images)
  }

  draw(image, facts) {
    const [x, y, , , step] = facts.view
    const [rows, columns] = image.shape
    const rgba = rgbaOf(image, this.table, this.mask())
    const Rgba = this.data.data.image[0].constructor
    this.number += 1
    this.data.setv({
      data: {
        image: [new Rgba(rgba, [rows, columns])], value: [image.values],
        x: [x], y: [y], dw: [columns * step], dh: [rows * step], number: [this.number],
      },
    }, SHOWN)
    this.drawnLast = { image, facts }
    this.times = [...this.times.slice(-19), performance.now()]
  }

  /** What is shown, and of how many images it is. */
  together(view) {
    if (!TOGETHER.includes(this.kind) || this.kept.at !== null || this.whole !== null || this.kept.views.length === 0) return { image: view.arrays.image, images: 1 }
    return this.kept.together(this.kind, Math.max(1, Number(byId("last").value) || 1))
  }

  mask() {
    return byId("show_mask").checked ? this.reasons : null
  }

  /** Colours by the limits of now, and the bar that says them. Bokeh has no bar for roots: that one's colours are spread instead. */
  retable() {
    const [low, high] = this.contrast.limits
    const kind = this.choice.scale.value
    const palette = this.palettes[this.choice.colours.value]
    const spread = kind === "square root" ? palette.map((_, n) => palette[Math.floor(Math.sqrt(n / (palette.length - 1)) * (palette.length - 1))]) : palette
    this.scales.log.setv({ palette, low: low > 0 ? low : 0.5, high: Math.max(high, 1) }, SHOWN)
    this.scales.linear.setv({ palette: spread, low, high }, SHOWN)
    this.table = tableOf(kind, palette, low, high)
  }

  recolour() {
    if (this.kept === undefined) return // the tools are being made
    const kind = this.choice.scale.value === "log" ? "log" : "linear"
    for (const [name, bar] of Object.entries(this.bars)) if (bar.visible !== (name === kind)) bar.setv({ visible: name === kind }, SHOWN)
    this.contrast.follow(this.contrast.sample)
    this.retable()
    if (this.drawnLast) this.draw(this.drawnLast.image, this.drawnLast.facts)
  }

  // ---- beam and rings ----------------------------------------------------------------------------------------------------------

  get planned() {
    const known = this.told.beams[this.choice.buffer.value.split("\n")[1]]
    return known !== undefined && this.size !== null && known.size.join() === this.size.join() ? known : null
  }

  moveCentre(at) {
    this.centre = at === null ? PLANNED : { x: at[0], y: at[1] }
    this.showBeam()
  }

  showBeam() {
    const { planned } = this
    const [x, y] = planned === null ? [0, 0] : [this.centre.x ?? planned.x, this.centre.y ?? planned.y]
    const unit = this.choice.unit.value
    const rings = planned === null ? [] : planned.rings[unit]
    put(this.beam, { x: planned === null ? [] : [x], y: planned === null ? [] : [y] })
    put(this.rings, {
      x: rings.map(() => x), y: rings.map(() => y), radius: rings.map((ring) => ring.radius),
      top: rings.map((ring) => y - ring.radius), text: rings.map((ring) => `${ring.value} ${unit}`),
    })
    this.propose(planned, x, y)
  }

  propose(planned, x, y) {
    const inputs = [[byId("beam_x"), x], [byId("beam_y"), y]]
    for (const [input, value] of inputs) {
      const text = planned === null ? "" : String(Number(value.toFixed(2)))
      if (document.activeElement !== input && input.value !== text) input.value = text
    }
    let text = "<p class='quiet'>The run file's beam is shown. A moved centre is proposed here; nothing is written.</p>"
    if (planned === null) text = "<p class='quiet'>Nothing is known of the beam on these images.</p>"
    else if (this.centre.x !== null) {
      const [across, down] = [x + planned.origin[0], y + planned.origin[1]].map((value) => value.toFixed(2))
      text = `<p>To set in the run file: <code>[detector] beam_center_x = ${across}</code>, <code>beam_center_y = ${down}</code></p>`
    }
    if (byId("proposal").innerHTML !== text) byId("proposal").innerHTML = text
  }

  showCurve(facts, arrays) {
    const name = Object.keys(facts.axes).find((one) => arrays[`profile_${one}`] !== undefined)
    if (this.curve.visible !== (name !== undefined)) this.curve.setv({ visible: name !== undefined }, SHOWN)
    if (name === undefined) return
    const [x, y] = arrays[`profile_${name}`].rows()
    if (this.mean === null || this.mean.total.length !== y.length) this.mean = { total: new Float64Array(y.length), images: 0, index: null }
    if (this.mean.index !== facts.index && this.kept.at === null) {
      this.mean.index = facts.index
      this.mean.images += 1
      for (let i = 0; i < y.length; ++i) this.mean.total[i] += Number.isFinite(y[i]) ? y[i] : 0
    }
    const says = { x: facts.axes[name].replaceAll("_", " "), y: name }
    for (const axis of ["x", "y"]) if (this.axes[axis].axis_label !== says[axis]) this.axes[axis].setv({ axis_label: says[axis] }, SHOWN)
    this.profile.setv({ data: { x, y, mean: this.mean.total.map((value) => value / this.mean.images) } }, SHOWN)
  }

  /** A region of blocks is not the sum of its pixels: these are asked for. */
  async measure(image, facts, images) {
    const region = this.regions.rectangle(facts.size)
    const now = performance.now()
    if (region === null || this.measuring || now - this.measured < REGION_MS) return
    this.measured = now
    const coarse = facts.view[4] > 1 && images === 1 && this.kept.at === null
    if (this.whole !== null) this.regions.measure(this.whole.arrays.image, { ...this.whole.facts, view: [0, 0, 0, 0, 1] })
    else if (!coarse) this.tellRegion(image, facts)
    else {
      this.measuring = true
      const wanted = this.wanted({ ...region, step: 1 })
      const view = wanted === null ? null : await this.ask(wanted)
      this.measuring = false
      if (view !== null && wanted.selection === this.selection) this.tellRegion(view.arrays.image, view.facts)
    }
  }

  tellRegion(image, facts) {
    const mean = this.regions.measure(image, facts)
    if (LIVE.includes(this.kind) && this.kept.at === null) this.curves.put("mean of the region", facts.frame, mean)
  }

  say(facts, arrays, images) {
    const step = facts.view[4]
    const seconds = (this.times.at(-1) - this.times[0]) / 1e3
    const parts = [`frame ${named(facts.frame)}, image ${named(facts.index)} of ${escaped(this.choice.buffer.selectedOptions[0]?.text ?? "")}`]
    if (this.told.series !== null) parts.push(`run ${this.told.series}`)
    if (facts.timestamp_ns > 0) parts.push(timeOf(facts.timestamp_ns))
    if (facts.vetoed !== null) parts.push(`vetoed: ${escaped(facts.vetoed.replaceAll("_", " "))}`)
    if (facts.arriving) parts.push("as it arrived")
    parts.push(facts.partial ? "<span class='warn'>◩ partial: lost lines are hatched</span>" : "complete")
    if (images > 1) parts.push(`${this.kind} of ${named(images)} images shown`)
    let text = `${parts.join(", ")}; ${facts.size[0]} × ${facts.size[1]} pixels`
    text += step > 1 ? `, a point is the largest of ${step} × ${step}` : ", pixel by pixel"
    if (arrays.peaks !== undefined) text += `; ${arrays.peaks.shape[1]} peaks`
    if (this.kept.at !== null) text += "; one that this page has seen before"
    else if (this.whole !== null) text += "; held"
    else if (seconds > 0 && LIVE.includes(this.kind)) text += `; ${((this.times.length - 1) / seconds).toFixed(1)} images/s shown`
    this.facts.innerHTML = `<p>${text}.</p>`
  }
}

/** As a clock shows it, where the detector's time is one of the day; else seconds. */
function timeOf(ns) {
  const seconds = ns / 1e9
  return seconds > 1e9 ? new Date(seconds * 1e3).toISOString().slice(11, 23) : `${seconds.toFixed(3)} s`
}

/** Where it differs from what is there. */
function put(source, data) {
  const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i])
  if (Object.entries(data).some(([name, values]) => !same(values, Array.from(source.data[name])))) source.setv({ data }, SHOWN)
}

for (;;) {
  const doc = window.Bokeh?.documents?.[0]
  if (doc?.get_model_by_name("image")) {
    window.rashpaImage = new LiveImage(doc)
    window.rashpaImage.run()
    break
  }
  await sleep(20)
}
