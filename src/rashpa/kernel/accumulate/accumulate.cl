// SPDX-License-Identifier: Apache-2.0
// Adds the images of a stack to what has been added up of each pixel. A group has TILE pixels, a work item one at a
// time, of which it takes all images in their order. MAXIMUM, SQUARES: whether they are wanted.
#if REAL
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void add(global const float* images, uint stride, uint pixels, global const struct Books* books, uint count,
                global uint* counted, global double* sum, global float* most, global double* mean,
                global double* squares) {
  const uint first = get_group_id(0) * TILE;
  const uint last = min(first + TILE, pixels);
  for (uint p = first + get_local_id(0); p < last; p += GROUP) {
    uint n = counted[p];
    double added = sum[p];
    float largest = MAXIMUM ? most[p] : 0;
    double middle = SQUARES ? mean[p] : 0;
    double spread = SQUARES ? squares[p] : 0;
    for (uint image = 0; image < count; ++image) {
      if (books[image].work == 0) continue;
      const float pixel = images[(size_t)image * stride + p];
      if (isnan(pixel)) continue;
      const double value = pixel;
      n += 1;
      added += value;
      largest = pixel > largest ? pixel : largest;
#if SQUARES
      const double step = value - middle;
      middle += step / n;
      spread += step * (value - middle);
#endif
    }
    counted[p] = n;
    sum[p] = added;
#if MAXIMUM
    most[p] = largest;
#endif
#if SQUARES
    mean[p] = middle;
    squares[p] = spread;
#endif
  }
}
#else

kernel void add(global const PIXEL* images, uint stride, uint pixels, global const struct Books* books, uint count,
                global uint* counted, global long* sum, global WIDE* most, global ulong* squares, global ulong* crosses,
                global ulong* tops) {
  const uint first = get_group_id(0) * TILE;
  const uint last = min(first + TILE, pixels);
  for (uint p = first + get_local_id(0); p < last; p += GROUP) {
    uint n = counted[p];
    long added = sum[p];
    WIDE largest = MAXIMUM ? most[p] : 0;
    ulong low = SQUARES ? squares[p] : 0;
    ulong cross = 0;
    ulong high = 0;
#if SQUARES && BIG
    cross = crosses[p];
    high = tops[p];
#endif
    for (uint image = 0; image < count; ++image) {
      if (books[image].work == 0) continue;
      const PIXEL pixel = images[(size_t)image * stride + p];
      if (!kept(pixel)) continue;
      const WIDE value = pixel;
      n += 1;
      added += value;
      largest = max(largest, value);
#if SQUARES
      const ulong size = abs(value);
#if BIG
      const ulong a = size >> 16;
      const ulong b = size & 0xFFFF;
      low += b * b;
      cross += a * b;
      high += a * a;
#else
      low += size * size;
#endif
#endif
    }
    counted[p] = n;
    sum[p] = added;
#if MAXIMUM
    most[p] = largest;
#endif
#if SQUARES
    squares[p] = low;
#if BIG
    crosses[p] = cross;
    tops[p] = high;
#endif
#endif
  }
}
#endif
