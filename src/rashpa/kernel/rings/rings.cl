// SPDX-License-Identifier: Apache-2.0
// The background of an image ring by ring, and the pixels above it. REAL: pixels are float32; CLIP: limits by sigma
// clipping, otherwise by rounds over a signal-to-noise ratio; WORDS: words of marks that a work item makes.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define NO_RING 0xFFFF

#if REAL
#define PIXEL float
float value_of(PIXEL pixel) { return pixel; }
#else
float value_of(PIXEL pixel) { return kept(pixel) ? (float)pixel : NAN; }
#endif

SUM_OF_GROUP(sum_of_group_double, double)

struct Sums {
  double sum;
  double squares;
  uint count;
#if CLIP
  double sum_above;  // of values of at least 1
  uint count_above;
#endif
};

/// A ring of an image, and what a group shares.
struct Ring {
  global const PIXEL* image;
  global const uint* order;
  uint first;
  uint last;
  local double* room;
  local uint* counts;
};

// Of the values of the ring with low < value < high. Every work item comes here, and gets the same.
struct Sums sums_of(const struct Ring* ring, float low, float high) {
  struct Sums mine = {0};
  for (uint at = ring->first + get_local_id(0); at < ring->last; at += GROUP) {
    const float value = value_of(ring->image[ring->order[at]]);
    if (!(value > low && value < high)) continue;
    mine.sum += (double)value;
    mine.squares += (double)value * (double)value;
    mine.count += 1;
#if CLIP
    mine.sum_above += value >= 1 ? (double)value : 0.0;
    mine.count_above += value >= 1 ? 1 : 0;
#endif
  }
  struct Sums all;
  all.sum = sum_of_group_double(mine.sum, ring->room);
  all.squares = sum_of_group_double(mine.squares, ring->room);
  all.count = sum_of_group(mine.count, ring->counts);
#if CLIP
  all.sum_above = sum_of_group_double(mine.sum_above, ring->room);
  all.count_above = sum_of_group(mine.count_above, ring->counts);
#endif
  return all;
}

#if CLIP
struct Moments {
  uint count;
  double mean;
  double variance;
};

// A pixel without counts has the variance of one with 1.
struct Moments moments_of(struct Sums sums, bool azimuthal) {
  struct Moments found = {0, 0, 0};
  if (sums.count == 0) return found;
  found.count = sums.count;
  found.mean = sums.sum / sums.count;
  const double spread = sums.squares / sums.count - found.mean * found.mean;
  found.variance = !azimuthal     ? (sums.sum_above + (sums.count - sums.count_above)) / sums.count
                   : spread > 0.0 ? spread
                                  : 0.0;
  return found;
}

// What of the window lies within `reach` of the mean.
float2 narrowed(float low, float high, double mean, double reach) {
  const float next_low = nextafter((float)(mean - reach), -INFINITY);
  const float next_high = nextafter((float)(mean + reach), INFINITY);
  return (float2)(low > next_low ? low : next_low, high < next_high ? high : next_high);
}

// `reaches`: by how many values are left, deviations from which on one is left out.
float2 limit(const struct Ring* ring, global const double* reaches, uint cycles, bool azimuthal, bool hybrid) {
  float low = -INFINITY;
  float high = INFINITY;
  struct Moments found = {0, 0, 0};
  struct Sums now;
  uint left = 0;
  for (uint cycle = 0;; ++cycle) {
    float2 window = (float2)(low, high);
    if (cycle > 0) window = narrowed(low, high, found.mean, reaches[left] * sqrt(found.variance));
    struct Sums sums = sums_of(ring, window.x, window.y);
    if (cycle > 0 && sums.count == 0 && !azimuthal) {
      window = narrowed(low, high, found.mean, reaches[left] * sqrt(moments_of(now, true).variance));
      sums = sums_of(ring, window.x, window.y);
    }
    low = window.x;
    high = window.y;
    now = sums;
    if (cycle == 0) {
      found = moments_of(sums, azimuthal);
      left = max(3u, found.count);
    } else {
      const uint clipped = found.count - sums.count;
      if (clipped == 0 && !hybrid) break;
      left = max(3u, left - clipped);
      if (hybrid && (cycle == cycles || clipped == 0)) azimuthal = false;
      found = moments_of(sums, azimuthal);
      if (clipped == 0) break;
    }
    if (cycle == cycles || found.count == 0) break;
  }
  if (found.count == 0) return (float2)(NAN, NAN);
  return (float2)((float)found.mean, (float)sqrt(found.variance));
}
#else
float2 limit(const struct Ring* ring, double min_snr, double threshold) {
  float low = -1e9f;
  float high = 1e9f;
  float mean_found = 0;
  for (uint round = 0; round < 5; ++round) {
    const float low_before = low;
    const float high_before = high;
    const struct Sums sums = sums_of(ring, low, high);
    if (sums.count == 0) {
      low = FLT_MIN;
      high = FLT_MAX;
      mean_found = 0;
    } else {
      const double mean = sums.sum / sums.count;
      const double variance = sums.squares / sums.count - mean * mean;
      const double reach = min_snr * sqrt(variance > 0.0 ? variance : 0.0);
      const double above = mean + reach;
      low = (float)(mean - reach);
      high = (float)(above > threshold ? above : threshold);
      mean_found = (float)mean;
    }
    if (low == low_before && high == high_before) break;
  }
  return (float2)(high, mean_found);
}
#endif

// A group a ring of an image. CLIP: mean and deviation; else: the limit, and the mean.
kernel void limit_rings(global const PIXEL* images, uint stride, global const struct Books* books,
                        global const uint* order, global const uint* firsts, global float2* limits,
#if CLIP
                        global const double* reaches, uint cycles, uint azimuthal, uint hybrid
#else
                        double min_snr, double threshold
#endif
) {
  local double room[GROUP];
  local uint counts[GROUP];
  const uint number = get_group_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  const struct Ring ring = {images + (size_t)image * stride, order, firsts[number], firsts[number + 1], room, counts};
#if CLIP
  const float2 found = limit(&ring, reaches, cycles, azimuthal != 0, hybrid != 0);
#else
  const float2 found = limit(&ring, min_snr, threshold);
#endif
  if (get_local_id(0) == 0) limits[image * get_num_groups(0) + number] = found;
}

#if CLIP
// A value that no pixel of the ring that sticks out is below: backgrounds lie between those of neighbours, and what is
// rounded on the way is much less than a thousandth.
float above_of(global const float2* limits, uint ring, uint rings, double factor, double noise) {
  float mean = INFINITY;
  float deviation = INFINITY;
  for (uint beside = ring == 0 ? 0 : ring - 1; beside <= min(ring + 1, rings - 1); ++beside) {
    mean = fmin(mean, limits[beside].x);  // one without background is left out
    deviation = fmin(deviation, limits[beside].y);
  }
  const double limit = mean + factor * sqrt((double)deviation * deviation + noise * noise);
  return isinf(mean) ? INFINITY : (float)(limit - 1e-3 * (fabs(limit) + 1));
}
#else
float above_of(global const float2* limits, uint ring, uint rings, double factor, double noise) {
  return limits[ring].x;
}
#endif

// A work item a ring.
kernel void raise(global const struct Books* books, global const float2* limits, uint rings, global float* above,
                  double factor, double noise) {
  const uint ring = get_global_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0 || ring >= rings) return;
  above[image * rings + ring] = above_of(limits + (size_t)image * rings, ring, rings, factor, noise);
}

// A work item some words of 64 pixels.
kernel void mark_above(global const PIXEL* images, uint stride, uint pixels, global const struct Books* books,
                       global const ushort* ring_of, global const float* above, uint rings, global ulong* marks,
                       uint words) {
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const PIXEL* from = images + (size_t)image * stride;
  global const float* limits = above + (size_t)image * rings;
  const uint first = get_global_id(0) * WORDS;
  for (uint word = first; word < min(first + WORDS, words); ++word) {
    ulong bits = 0;
    const uint there = word * 64 < pixels ? min(pixels - word * 64, 64u) : 0;
    for (uint k = 0; k < there; ++k) {
      const ushort ring = ring_of[word * 64 + k];
      if (ring == NO_RING) continue;
      if (value_of(from[word * 64 + k]) > limits[ring]) bits |= (ulong)1 << k;
    }
    marks[(size_t)image * words + word] = bits;
  }
}
