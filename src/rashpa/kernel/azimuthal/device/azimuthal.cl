// SPDX-License-Identifier: Apache-2.0
// Sums by bins: shares of pixels lie bin by bin, in each by pixel. REAL: pixels are float32; REAL_SUMS: sums are real
// numbers; SPLIT: shares have a size, otherwise it is 1; POISSON, SPREAD: variances of that model; DARK; TEAM: work
// items of a bin, GROUP or 1.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#if REAL
#define PIXEL float
bool counts(PIXEL pixel) { return isfinite(pixel); }
#else
bool counts(PIXEL pixel) { return kept(pixel); }
#endif
#if REAL_SUMS
#define SUM double
SUM_OF_GROUP(sum_of_signal, double)
#else
#define SUM long
SUM_OF_GROUP(sum_of_signal, long)
#endif
SUM_OF_GROUP(sum_of_doubles, double)

// Found of azimuthal_opencl.cpp.
struct Found {
  SUM signal;
  SUM variance;
  double masked_norm;
  double masked_dark;
  double masked_variance;
  double spread_signal;
  double spread_norm;
  double spread_variance;
  uint masked;
  uint unused;
};

// A share of a pixel joins its bin, by the recursion for weighted means.
void join(struct Found* bin, double value, double share, double pixel_norm) {
  const double ratio = value / pixel_norm;
  const double weight = share * pixel_norm;
  if (bin->spread_norm == 0) {
    bin->spread_signal = share * value;
    bin->spread_norm = weight;
    bin->spread_variance = 0;
    return;
  }
  const double before = bin->spread_signal / bin->spread_norm - ratio;
  bin->spread_signal += share * value;
  bin->spread_norm += weight;
  const double after = bin->spread_signal / bin->spread_norm - ratio;
  bin->spread_variance += weight * weight * before * after;
}

// TEAM work items have a bin of an image.
kernel void sum_bins(global const PIXEL* images, uint stride, global const struct Books* books, uint bins,
                     global const uint* firsts, global const uint* pixels, global const float* shares,
                     global const float* norm, global const float* dark, global struct Found* found) {
  const uint image = get_group_id(1);
  const uint bin = get_global_id(0) / TEAM;
#if TEAM == 1
  if (books[image].work == 0 || bin >= bins) return;
#else
  local SUM room[GROUP];
  local double doubles[GROUP];
  local uint numbers[GROUP];
  if (books[image].work == 0) return;
#endif
  global const PIXEL* from = images + (size_t)image * stride;
  struct Found mine = {0};
  for (uint at = firsts[bin] + get_global_id(0) % TEAM; at < firsts[bin + 1]; at += TEAM) {
    const uint pixel = pixels[at];
    const PIXEL value = from[pixel];
    const double share = SPLIT ? (double)shares[at] : 1.0;
    if (!counts(value)) {
      const double off = DARK ? (double)dark[pixel] : 0.0;
      mine.masked_norm += share * (double)norm[pixel];
      mine.masked_dark += share * off;
      mine.masked_variance += share * share * off;
      mine.masked += 1;
      continue;
    }
#if REAL_SUMS
    const double number = (double)value;
    mine.signal += share * number;
    if (POISSON) mine.variance += share * share * (number > 1.0 ? number : 1.0);
#else
    mine.signal += (long)value;
    if (POISSON) mine.variance += value > 1 ? (long)value - 1 : 0;
#endif
    if (SPREAD) join(&mine, (double)value - (DARK ? (double)dark[pixel] : 0.0), share, (double)norm[pixel]);
  }
#if TEAM != 1
  mine.signal = sum_of_signal(mine.signal, room);
  if (POISSON) mine.variance = sum_of_signal(mine.variance, room);
  mine.masked = sum_of_group(mine.masked, numbers);
  if (mine.masked != 0) {
    mine.masked_norm = sum_of_doubles(mine.masked_norm, doubles);
    mine.masked_dark = sum_of_doubles(mine.masked_dark, doubles);
    mine.masked_variance = sum_of_doubles(mine.masked_variance, doubles);
  }
  if (get_local_id(0) != 0) return;
#endif
  found[(size_t)image * bins + bin] = mine;
}
