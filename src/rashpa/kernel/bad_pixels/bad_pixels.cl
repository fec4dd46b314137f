// SPDX-License-Identifier: Apache-2.0
// Images with their bad pixels masked. PIXEL: an unsigned type of the size of the pixels; MASKED: its value for bad
// ones; TILE: pixels of a group. `words`: a bit a pixel, 1 where it is bad.

kernel void mask_bad(global const PIXEL* images, uint stride, global PIXEL* made, uint made_stride,
                     global const struct Books* books, global const uint* words, uint pixels) {
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const PIXEL* from = images + (size_t)image * stride;
  global PIXEL* to = made + (size_t)image * made_stride;
  const uint first = get_group_id(0) * TILE;
  const uint last = min(first + TILE, pixels);
  for (uint pixel = first + get_local_id(0); pixel < last; pixel += GROUP) {
    const bool bad = (words[pixel / 32] >> (pixel % 32) & 1) != 0;
    to[pixel] = bad ? (PIXEL)MASKED : from[pixel];
  }
}
