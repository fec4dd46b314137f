// SPDX-License-Identifier: Apache-2.0
// Raw words to photons (KEV 0) or keV (KEV 1). Pedestals and factors: gain by gain, `padded` entries each. A group a tile
// of TILE pixels of all images, so that what belongs to a pixel is read once a stack. CELLS: such tables set by set, and
// the set of each image.
#if TRACK
#define PEDESTAL float
#else
#define PEDESTAL const float
#endif
#define NO_PHOTONS (-32768)
#define TOO_MANY_PHOTONS 32767
#define ROUNDING 12582912.0f  // 1.5 · 2^23: a sum with it is rounded to the nearest integer, ties to even

#if KEV
typedef float Out;
#define IS_MASKED(pedestal) isnan(pedestal)
#else
typedef short Out;
#define IS_MASKED(pedestal) ((pedestal) > 0x1p59f)
#endif

// Without contraction: the difference, the product and the sum are rounded one after the other.
#if KEV
float8 converted8(ushort8 words, float8 pedestals, float8 factors) {
  const float8 kev = (convert_float8(words & (ushort8)GAIN_0_LARGEST) - pedestals) * factors;
  return as_float8(select(as_int8(kev), (int8)0x7FC00000, isnan(pedestals)));
}
float converted(ushort word, float pedestal, float factor) {
  return ((float)(word & GAIN_0_LARGEST) - pedestal) * factor;
}
#else
int8 converted8(ushort8 words, float8 pedestals, float8 factors) {
  const float8 photons = (convert_float8(words & (ushort8)GAIN_0_LARGEST) - pedestals) * factors;
  const float8 held = fmin(fmax(photons, (float8)-32767.0f), (float8)32766.0f);
  const int8 rounded = (as_int8(held + (float8)ROUNDING) << 16) >> 16;
  return select(rounded, (int8)NO_PHOTONS, IS_MASKED(pedestals));
}
short converted(ushort word, float pedestal, float factor) {
  const float photons = ((float)(word & GAIN_0_LARGEST) - pedestal) * factor;
  return (short)(as_int(fmin(fmax(photons, -32767.0f), 32766.0f) + ROUNDING) & 0xFFFF);
}
#endif

// A word that is not simply one of gain 0, and which its pixel's own tables have to say what it is.
Out other_word(ushort word, size_t pixel, global const float* pedestals, global const float* factors,
               uint padded, uint* masked, uint* saturated) {
#if KEV
  const Out none = as_float(0x7FC00000);
  const Out too_much = INFINITY;
#else
  const Out none = NO_PHOTONS;
  const Out too_much = TOO_MANY_PHOTONS;
#endif
  const uint code = word >> 14;
  const uint gain = code == 3 ? 2 : code;
  if (code == 2 || word == 0xFFFF || word == 0x4000) {
    *masked += 1;
    return none;
  }
  const float pedestal = pedestals[(size_t)gain * padded + pixel];
  if (IS_MASKED(pedestal)) {
    *masked += 1;
    return none;
  }
  if (word == 0xC000) {
    *saturated += 1;
    return too_much;
  }
  return converted(word, pedestal, factors[(size_t)gain * padded + pixel]);
}

struct Counts {
  uint masked;
  uint saturated;
  uint bright;
  uint unused;
};

kernel void convert_tiles(global const ushort* restrict raw, uint raw_stride, global Out* restrict out, uint out_stride,
                          global PEDESTAL* restrict pedestals, global const float* restrict factors, uint padded, uint pixels,
                          global const struct Books* restrict books, uint images, global struct Counts* tile_counts,
                          global uchar* restrict marks, uint marks_stride, int count_from, int mark_from
#if TRACK
                          , global float* restrict variances, global const uchar* restrict followed, float inverse,
                          float square_limit
#endif
#if CELLS
                          , global const uchar* restrict sets
#endif
) {
  local uint sums[3];
  const uint item = get_local_id(0);
  const uint first = get_group_id(0) * TILE;
  const uint there = min(pixels - first, (uint)TILE);
  for (uint image = 0; image < images; ++image) {
    global const ushort* from = raw + (size_t)image * raw_stride + first;
#if TRACK && AT_ONCE
    // Of pixels that this work item has converted in the image before. Its work may be over: it is only learned from.
    if (image > 0) {
      follow_tile(from - raw_stride, pedestals + first, variances + first, item, there, followed[image - 1], inverse,
                  square_limit);
    }
#endif
    if (books[image].work == 0) continue;
#if CELLS
    const size_t set = (size_t)sets[image] * 3 * padded;
#else
    const size_t set = 0;
#endif
    global Out* to = out + (size_t)image * out_stride + first;
    int8 masked8 = 0;
    int8 bright8 = 0;
    uint masked = 0;
    uint saturated = 0;
    // The last eight may end behind the image, where pixels are masked and not counted.
    for (uint at = item * 8; at < there; at += GROUP * 8) {
      const ushort8 words = vload8(0, from + at);
      const float8 pedestal = vload8(0, pedestals + set + first + at);
      const float8 factor = vload8(0, factors + set + first + at);
      const bool switched = any((short8)(words > (ushort8)GAIN_0_LARGEST));
#if KEV
      float8 made = converted8(words, pedestal, factor);
      if (!switched) masked8 -= isnan(pedestal);
#else
      int8 made = converted8(words, pedestal, factor);
      if (!switched) masked8 -= made == (int8)NO_PHOTONS;
#endif
      if (switched) {
        ushort word[8];
        Out pixel[8];
        vstore8(words, 0, word);
#if KEV
        vstore8(made, 0, pixel);
#else
        vstore8(convert_short8(made), 0, pixel);
#endif
        for (uint k = 0; k < 8; ++k) {
          if (word[k] > GAIN_0_LARGEST) {
            pixel[k] =
                other_word(word[k], first + at + k, pedestals + set, factors + set, padded, &masked, &saturated);
          } else {
            masked += IS_MASKED(pedestals[set + first + at + k]) ? 1 : 0;
          }
        }
#if KEV
        made = vload8(0, pixel);
#else
        made = convert_int8(vload8(0, pixel));
#endif
      }
#if KEV
      vstore8(made, 0, to + at);
#else
      vstore8(convert_short8(made), 0, to + at);
#if COUNT
      bright8 -= made >= (int8)count_from;
#endif
#if MARK
      const int8 places = (int8)(1, 2, 4, 8, 16, 32, 64, 128);
      const int8 found = made >= (int8)mark_from;
      uchar bits = 0;
      if (any(found)) {
        const int8 set = found & places;
        const int4 four = set.lo + set.hi;
        bits = (uchar)(four.x + four.y + four.z + four.w);
      }
      marks[(size_t)image * marks_stride + (first + at) / 8] = bits;
#endif
#endif
    }
    const int4 masked4 = masked8.lo + masked8.hi;
    const int4 bright4 = bright8.lo + bright8.hi;
    masked += (uint)(masked4.x + masked4.y + masked4.z + masked4.w);
    const uint bright = (uint)(bright4.x + bright4.y + bright4.z + bright4.w);
    global struct Counts* counts = tile_counts + image * get_num_groups(0) + get_group_id(0);
#if GROUP == 1
    counts->masked = masked;
    counts->saturated = saturated;
    counts->bright = bright;
#else
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 3) sums[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (masked != 0) atomic_add(sums, masked);
    if (saturated != 0) atomic_add(sums + 1, saturated);
    if (bright != 0) atomic_add(sums + 2, bright);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
      counts->masked = sums[0];
      counts->saturated = sums[1];
      counts->bright = sums[2];
    }
#endif
  }
#if TRACK
  // Of pixels that this work item has converted: of all images, or of the last one.
#if AT_ONCE
  for (uint image = images - 1; image < images; ++image) {
#else
  for (uint image = 0; image < images; ++image) {
#endif
#if CELLS
    if (sets[image] == NO_SET) continue;
    const size_t set = sets[image];
#else
    const size_t set = 0;
#endif
    follow_tile(raw + (size_t)image * raw_stride + first, pedestals + set * 3 * padded + first,
                variances + set * padded + first, item, there, followed[image], inverse, square_limit);
  }
#endif
}

#if CELLS
// Images of a cell without a set fail and leave the work. One group.
kernel void refuse_cells(global struct Books* books, global const uchar* sets, uint images, uint step, uint column) {
  for (uint image = get_local_id(0); image < images; image += GROUP) {
    global struct Books* one = books + image;
    if (one->work == 0 || sets[image] != NO_SET) continue;
    one->work = 0;
    one->failed = (uchar)(step + 1);
    one->scalars[column] = 0;
    one->scalars[column + 1] = 0;
  }
}
#endif

// A group an image. `behind`: pixels behind the end of an image that were counted as masked.
kernel void settle(global struct Books* books, global const struct Counts* tile_counts, uint tiles, uint behind,
                   uint column) {
  local uint room[GROUP];
  const uint number = get_group_id(0);
  global struct Books* image = books + number;
  if (image->work == 0) return;
  uint masked = 0;
  uint saturated = 0;
  uint bright = 0;
  for (uint tile = get_local_id(0); tile < tiles; tile += GROUP) {
    global const struct Counts* counts = tile_counts + number * tiles + tile;
    masked += counts->masked;
    saturated += counts->saturated;
    bright += counts->bright;
  }
  masked = sum_of_group(masked, room);
  saturated = sum_of_group(saturated, room);
  bright = sum_of_group(bright, room);
  if (get_local_id(0) != 0) return;
  image->scalars[column] = masked - behind;
  image->scalars[column + 1] = saturated;
  image->counted = bright;
}

#if ASSEMBLE
// One of two shares of a value; codes stay what they are.
Out share_of(Out value, uint part) {
#if KEV
  return part == 0 || isnan(value) ? value : 0.5f * value;  // of a NaN, other devices make other NaNs
#else
  if (part == 0 || value == NO_PHOTONS || value == TOO_MANY_PHOTONS) return value;
  const int less = value >> 1;
  return (Out)(part == 1 ? less : value - less);
#endif
}

// Origin of jungfrau_opencl.cpp: a pixel, and the shares in two bits each.
struct Origin {
  uint pixel;
  uint parts;
};

// A group a tile of an assembled image.
kernel void assemble(global const Out* converted, uint stride, global Out* out, uint out_stride,
                     global const struct Origin* origins, uint pixels, global const struct Books* books) {
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const Out* from = converted + (size_t)image * stride;
  global Out* to = out + (size_t)image * out_stride;
  const uint first = get_group_id(0) * TILE;
  for (uint p = first + get_local_id(0); p < min(first + TILE, pixels); p += GROUP) {
    const struct Origin origin = origins[p];
#if KEV
    Out value = as_float(0x7FC00000);
#else
    Out value = NO_PHOTONS;
#endif
    if (origin.pixel != 0xFFFFFFFFu) {
      value = share_of(share_of(from[origin.pixel], origin.parts & 3), origin.parts >> 2);
    }
    to[p] = value;
  }
}
#endif
