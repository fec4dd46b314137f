// SPDX-License-Identifier: Apache-2.0
// Packed counters to pixels. BITS: of a counter; PIXEL: the type of the pixels; MASKED: its value for gaps. A work item
// makes eight pixels of BITS bytes, a group those of a line.

#if BITS == 6 || BITS == 12
ulong six_bytes(global const uchar* from) {
  const ulong low = from[0] | (uint)from[1] << 8 | (uint)from[2] << 16;
  const ulong high = from[3] | (uint)from[4] << 8 | (uint)from[5] << 16;
  return low | high << 24;
}
#endif

kernel void unpack_lines(global const uchar* images, uint stride, global PIXEL* made, uint made_stride,
                         global const struct Books* books, uint eights, uint eights_of_module, uint module_height,
                         uint made_width, uint gap_x, uint gap_y) {
  const uint line = get_group_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const uchar* packed = images + (size_t)image * stride + (size_t)line * eights * BITS;
  const size_t row = line + line / module_height * gap_y;
  global PIXEL* pixels = made + (size_t)image * made_stride + row * made_width;
  for (uint eight = get_local_id(0); eight < eights; eight += GROUP) {
    global const uchar* from = packed + (size_t)eight * BITS;
    PIXEL value[8];
#if BITS == 1
    const uint bits = from[0];
    for (uint k = 0; k < 8; ++k) value[k] = (PIXEL)(bits >> k & 1);
#elif BITS == 6
    const ulong bits = six_bytes(from);
    for (uint k = 0; k < 8; ++k) value[k] = (PIXEL)(bits >> (6 * k) & 63);
#elif BITS == 12
    const ulong first = six_bytes(from);
    const ulong second = six_bytes(from + 6);
    for (uint k = 0; k < 4; ++k) {
      value[k] = (PIXEL)(first >> (12 * k) & 4095);
      value[k + 4] = (PIXEL)(second >> (12 * k) & 4095);
    }
#else
    for (uint k = 0; k < 8; ++k) value[k] = from[3 * k] | (uint)from[3 * k + 1] << 8 | (uint)from[3 * k + 2] << 16;
#endif
    vstore8(vload8(0, value), 0, pixels + eight * 8 + eight / eights_of_module * gap_x);
  }
}

// A group a row of the images made.
kernel void fill_gaps(global PIXEL* made, uint made_stride, global const struct Books* books, uint width,
                      uint module_width, uint module_height, uint gap_x, uint gap_y) {
  const uint row = get_group_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global PIXEL* pixels = made + (size_t)image * made_stride + (size_t)row * width;
  const bool between = row % (module_height + gap_y) >= module_height;
  for (uint x = get_local_id(0); x < width; x += GROUP) {
    if (between || x % (module_width + gap_x) >= module_width) pixels[x] = MASKED;
  }
}
