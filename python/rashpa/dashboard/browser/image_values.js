// SPDX-License-Identifier: Apache-2.0
// Values of images: as they come from a node (rashpa.data.figures.view_bytes), in blocks, as colours.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, float32: Float32Array, float64: Float64Array }
const NONE = { uint16: 65535, int16: -32768, float32: NaN, float64: NaN }
const HEAD = 8
const ALL = 65536
const SAMPLE = 16384

/** `values` row after row; `none`: what says that there is no value; `codes`: of each value why it is none, 0 where it is one; null: all are. */
class Numbers {
  constructor(type, shape, values, codes = null) {
    Object.assign(this, { type, shape, values, none: NONE[type], codes })
  }
  rows() {
    const [rows, columns] = this.shape
    return Array.from({ length: rows }, (_, row) => this.values.subarray(row * columns, (row + 1) * columns))
  }
}

/** Facts and arrays of an answer; null: it is none. */
export function parse(buffer) {
  const bytes = new DataView(buffer)
  if (buffer.byteLength < HEAD || bytes.getUint32(0, false) !== 0x52565731) return null
  const body = HEAD + bytes.getUint32(4, true)
  const { arrays, ...facts } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEAD, body - HEAD)))
  const found = {}
  for (const [name, { type, shape, at }] of Object.entries(arrays)) {
    const count = shape.reduce((a, b) => a * b, 1)
    found[name] = new Numbers(type, shape, new TYPES[type](buffer, body + at, count))
  }
  if (found.absent !== undefined && found.image !== undefined) found.image.codes = codesOf(found.image, found.absent.values)
  return { facts, arrays: found }
}

/** A node says why of values that are none, one after the other. */
function codesOf(image, reasons) {
  const { values, none } = image
  const codes = new Uint8Array(values.length)
  let next = 0
  for (let i = 0; i < values.length; ++i) if (values[i] === none || Number.isNaN(values[i])) codes[i] = reasons[next++]
  return codes
}

/** The largest value of each block of a part of an image. */
export function largestOfBlocks(image, x, y, width, height, step) {
  const [, columns] = image.shape
  const [across, down] = [Math.ceil(width / step), Math.ceil(height / step)]
  const { values, none } = image
  const least = -Infinity
  const best = new Float64Array(across)
  const out = new values.constructor(across * down)
  const codes = image.codes === null ? null : new Uint8Array(across * down)
  for (let row = 0; row < down; ++row) {
    best.fill(least)
    for (let line = y + row * step; line < Math.min(y + height, y + (row + 1) * step); ++line) {
      const first = line * columns + x
      for (let i = 0; i < width; ++i) {
        const value = values[first + i]
        const block = (i / step) | 0
        if (value !== none && value > best[block]) best[block] = value // no NaN is larger
      }
    }
    for (let i = 0; i < across; ++i) {
      const empty = best[i] === least
      out[row * across + i] = empty ? none : best[i]
      if (empty && codes !== null) codes[row * across + i] = image.codes[(y + row * step) * columns + x + i * step]
    }
  }
  return new Numbers(image.type, [down, across], out, codes)
}

/** Some of the values, the smallest first. */
export function sampleOf(image) {
  const { values, none } = image
  const stride = Math.max(1, Math.floor(values.length / SAMPLE) | 1)
  const sample = new Float32Array(Math.ceil(values.length / stride))
  let known = 0
  for (let i = 0; i < values.length; i += stride) if (values[i] !== none && Number.isFinite(values[i])) sample[known++] = values[i]
  return sample.subarray(0, known).sort()
}

/** Below which that share of a sample is. */
export function below(sample, share) {
  return sample.length === 0 ? 0 : sample[Math.max(0, Math.min(sample.length - 1, Math.floor(share * sample.length)))]
}

/** Sum, mean or maximum of images of one shape. A sum has no value where one image has none; a mean and a maximum are of those that have one. */
export function stacked(images, kind) {
  const [first] = images
  const out = new Float32Array(first.values.length).fill(NaN)
  const total = new Float64Array(out.length).fill(kind === "maximum" ? -Infinity : 0)
  const count = new Uint16Array(out.length)
  for (const { values, none } of images) {
    for (let i = 0; i < out.length; ++i) {
      const value = values[i]
      if (value === none || Number.isNaN(value)) continue
      count[i] += 1
      if (kind !== "maximum") total[i] += value
      else if (value > total[i]) total[i] = value
    }
  }
  for (let i = 0; i < out.length; ++i) {
    if (count[i] === 0 || (kind === "sum" && count[i] < images.length)) continue
    out[i] = kind === "mean" ? total[i] / count[i] : total[i]
  }
  return new Numbers("float32", first.shape, out, first.codes)
}

/** How a scale spreads values: ascending, of values above `low`. */
export function spreadOf(kind, low) {
  if (kind === "log") return (value) => Math.log(Math.max(value, low) / low)
  if (kind === "square root") return (value) => Math.sqrt(Math.max(value - low, 0))
  return (value) => value - low
}

/** Colours by the 16 bits that say most of a value: of integers all, of floats the upper half, 0.8 % of the value. */
export function tableOf(kind, colours, low, high) {
  const palette = colours.map(packedOf)
  const last = palette.length - 1
  const spread = spreadOf(kind, low)
  const span = spread(high)
  const colour = (value) => (value > low ? palette[Math.min(last, Math.floor((spread(value) / span) * palette.length))] : palette[0])
  return { colour, least: palette[0], made: {} }
}

/** By the type of the values; made when it is wanted first. */
function coloursOf(table, type) {
  if (table.made[type]) return table.made[type]
  const found = new Uint32Array(ALL)
  const bits = new Uint32Array(1)
  const float = new Float32Array(bits.buffer)
  for (let code = 0; code < ALL; ++code) {
    bits[0] = code * ALL
    const value = type === "uint16" ? code : type === "int16" ? (code << 16) >> 16 : float[0]
    found[code] = Object.is(value, NONE[type]) || Number.isNaN(value) ? table.least : table.colour(value)
  }
  table.made[type] = found
  return found
}

/** `reasons`: the colour of each reason why there is no value; null: the least colour for all. */
export function rgbaOf(image, table, reasons) {
  const { values, codes } = image
  const out = new Uint32Array(values.length)
  if (values instanceof Float32Array) {
    const colours = coloursOf(table, "float32")
    const bits = new Uint16Array(values.buffer, values.byteOffset, 2 * values.length)
    for (let i = 0; i < out.length; ++i) out[i] = colours[bits[2 * i + 1]]
  } else {
    const colours = coloursOf(table, values instanceof Uint16Array ? "uint16" : "int16")
    for (let i = 0; i < out.length; ++i) out[i] = colours[values[i] & 0xffff]
  }
  if (codes !== null && reasons !== null) for (let i = 0; i < out.length; ++i) if (codes[i] !== 0) out[i] = reasons[codes[i]]
  return out
}

export function packedOf(text) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0
}
