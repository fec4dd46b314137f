// SPDX-License-Identifier: Apache-2.0
// Values of images: as they come from a node (rashpa.data.figures.view_bytes), in blocks, as colours.

const TYPES = { uint16: Uint16Array, int16: Int16Array, float32: Float32Array, float64: Float64Array }
const NONE = { uint16: 65535, int16: -32768, float32: NaN, float64: NaN }
const HEAD = 8
const ALL = 65536
const MARKED = [0x8a, 0x90, 0x99] // pixels without a value
const SAMPLE = 16384
const TOP = 0.9995 // of the values are below the largest colour

/** `values` row after row; `none`: what says that there is no value. */
class Numbers {
  constructor(type, shape, values) {
    Object.assign(this, { type, shape, values, none: NONE[type] })
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
  return { facts, arrays: found }
}

/** The largest value of each block of a part of an image. */
export function largestOfBlocks(image, x, y, width, height, step) {
  const [, columns] = image.shape
  const [across, down] = [Math.ceil(width / step), Math.ceil(height / step)]
  const { values, none } = image
  const least = -Infinity
  const best = new Float64Array(across)
  const out = new values.constructor(across * down)
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
    for (let i = 0; i < across; ++i) out[row * across + i] = best[i] === least ? none : best[i]
  }
  return new Numbers(image.type, [down, across], out)
}

/** Below which nearly all values are. */
export function topOf(image) {
  const { values, none } = image
  const stride = Math.max(1, Math.floor(values.length / SAMPLE) | 1)
  const sample = new Float32Array(Math.ceil(values.length / stride))
  let known = 0
  for (let i = 0; i < values.length; i += stride) if (values[i] !== none && Number.isFinite(values[i])) sample[known++] = values[i]
  if (known === 0) return 2
  const sorted = sample.subarray(0, known).sort()
  return Math.max(2, sorted[Math.min(known - 1, Math.floor(TOP * known))])
}

/** Colours by the 16 bits that say most of a value: of integers all, of floats the upper half, 0.8 % of the value. */
export function tableOf(kind, scale) {
  const palette = scale.palette.map((text) => packed(...[1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))))
  const { low, high } = scale
  const last = palette.length - 1
  const span = kind === "log" ? Math.log(high / low) : high - low
  const colour = (value) => {
    if (!(value > low)) return palette[0]
    const share = (kind === "log" ? Math.log(value / low) : value - low) / span
    return palette[Math.min(last, Math.floor(share * palette.length))]
  }
  return { colour, made: {} }
}

/** By the type of the values; made when it is wanted first. */
function coloursOf(table, type) {
  if (table.made[type]) return table.made[type]
  const found = new Uint32Array(ALL)
  const bits = new Uint32Array(1)
  const float = new Float32Array(bits.buffer)
  const marked = packed(...MARKED)
  for (let code = 0; code < ALL; ++code) {
    bits[0] = code * ALL
    const value = type === "uint16" ? code : type === "int16" ? (code << 16) >> 16 : float[0]
    found[code] = Object.is(value, NONE[type]) || Number.isNaN(value) ? marked : table.colour(value)
  }
  table.made[type] = found
  return found
}

export function rgbaOf(image, table) {
  const { values } = image
  const out = new Uint32Array(values.length)
  if (values instanceof Float32Array) {
    const colours = coloursOf(table, "float32")
    const codes = new Uint16Array(values.buffer, values.byteOffset, 2 * values.length)
    for (let i = 0; i < out.length; ++i) out[i] = colours[codes[2 * i + 1]]
  } else {
    const colours = coloursOf(table, values instanceof Uint16Array ? "uint16" : "int16")
    for (let i = 0; i < out.length; ++i) out[i] = colours[values[i] & 0xffff]
  }
  return out
}

function packed(red, green, blue) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0
}
