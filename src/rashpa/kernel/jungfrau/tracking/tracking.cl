// SPDX-License-Identifier: Apache-2.0
// Pedestals of gain 0 that follow dark images, or also pixels without a photon: the arithmetic of tracking.hpp, rounded
// after each operation. BINS: of the histogram of the drift, BINS_PER_SIGMA of them for an RMS. CELLS: each set of
// pedestals has a tracker and bins, and follows the images of its storage cell.
#define MASKED_ABOVE 0x1p59f

// Whether an image is followed.
#define NOT_FOLLOWED 0
#define FOLLOWED 1
#define FOLLOWED_WHERE_EMPTY 2

// What one stack leaves to the next; begins with zeros.
struct Tracker {
  ulong followed;   // images, without those of the stack in hand
  ulong next_look;  // when so many are
  uint in_hand;
  uint looking;
  uint worst;  // the bits of a float, of the look in hand
  uint begun;  // the stack in hand has images
  uint looked;  // 0: never; the bin of the median and 1
  float worst_looked;
};

// Eight pixels, in an image that is followed.
void follow8(ushort8 words, global float* pedestals, global float* variances, float inverse, float square_limit,
             bool where_empty) {
  const float8 pedestal = vload8(0, pedestals);
  const float8 variance = vload8(0, variances);
  const float8 far = convert_float8(words) - pedestal;
  const float8 square = far * far;
  // A pixel without calibration has a pedestal beyond all, or none.
  int8 taken = convert_int8(words <= (ushort8)GAIN_0_LARGEST) & (pedestal < (float8)MASKED_ABOVE);
  if (where_empty) taken &= square <= square_limit * variance;
  vstore8(select(pedestal, pedestal + far * inverse, taken), 0, pedestals);
  if (where_empty) return;
  vstore8(select(variance, (variance + square * inverse) * (1.0f - inverse), taken), 0, variances);
}

// A work item's eights of a tile, in an image that is followed.
void follow_tile(global const ushort* from, global float* pedestals, global float* variances, uint item, uint there,
                 uchar how, float inverse, float square_limit) {
  if (how == NOT_FOLLOWED) return;
  for (uint at = item * 8; at < there; at += GROUP * 8) {
    follow8(vload8(0, from + at), pedestals + at, variances + at, inverse, square_limit, how == FOLLOWED_WHERE_EMPTY);
  }
}

// One group, before the first pixel of a stack: settles what the stack before has left, and which images of this one
// are followed. `where_empty`: 1, also the first one that is not dark; 2, all of these. `learned_only`: of dark images
// nothing else is wanted. `found` has `looked` and `worst_looked`, set by set. What it says in `followed` is of images of
// its set alone.
kernel void begin_tracking(global struct Tracker* tracker, global uint* bins, global struct Books* books,
                           global const uchar* darks, uint images, uint where_empty, uint learned_only,
                           uint images_between_looks, global uchar* followed, global float* found, uint set
#if CELLS
                           , global const uchar* sets
#endif
) {
  local uint room[GROUP];
  local uint any;
  local uint looked;
  local uint looking;
  const uint item = get_local_id(0);
  if (item == 0) {
    any = 0;
    looked = tracker->looking;
    looking = 0;
    uint in_hand = 0;
    bool first = where_empty != 0;
    for (uint image = 0; image < images; ++image) {
#if CELLS
      if (sets[image] != set) continue;
#endif
      uchar how = NOT_FOLLOWED;
      if (books[image].work != 0) {
        any = 1;
        if (darks[image] != 0) {
          how = FOLLOWED;
          if (learned_only != 0) books[image].work = 0;
        } else if (first) {
          how = FOLLOWED_WHERE_EMPTY;
          first = where_empty == 2;
        }
      }
      followed[image] = how;
      in_hand += how != NOT_FOLLOWED;
    }
    tracker->begun = any;
    if (any != 0) {
      tracker->followed += tracker->in_hand;
      tracker->in_hand = in_hand;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (any != 0 && looked != 0) {
    const uint each = BINS / GROUP;
    uint mine = 0;
    for (uint bin = item * each; bin < (item + 1) * each; ++bin) mine += bins[bin];
    uint all;
    uint below = scan_of_group(mine, room, &all);
    // The first bin up to which there are half of the pixels is in one work item's part.
    if (all == 0 ? item == 0 : 2 * below < all && 2 * (below + mine) >= all) {
      uint middle = item * each;
      for (; 2 * (below + bins[middle]) < all; ++middle) below += bins[middle];
      tracker->looked = middle + 1;
      tracker->worst_looked = as_float(tracker->worst);
    }
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  }
  if (any != 0 && item == 0) {
    looking = tracker->followed >= tracker->next_look;
    tracker->looking = looking;
    if (looking != 0) {
      tracker->next_look = tracker->followed + images_between_looks;
      tracker->worst = 0;
    }
  }
  if (item == 0) {
    found[2 * set] = (float)tracker->looked;
    found[2 * set + 1] = tracker->worst_looked;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (looking == 0) return;
  for (uint bin = item; bin < BINS; bin += GROUP) bins[bin] = 0;
}

// Behind the last pixel of a stack: groups with a part of the image each. `at`: where the set's pedestals begin.
kernel void look(global struct Tracker* tracker, global uint* bins, global const float* pedestals, ulong at,
                 global const float* start, global const float* inverse_sigma, uint pixels) {
  local uint mine[BINS];
  local uint farthest;
  const uint item = get_local_id(0);
  if (tracker->begun == 0 || tracker->looking == 0) return;
  for (uint bin = item; bin < BINS; bin += GROUP) mine[bin] = 0;
  if (item == 0) farthest = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint each = (pixels + get_num_groups(0) - 1) / get_num_groups(0);
  const uint first = get_group_id(0) * each;
  const uint last = min(first + each, pixels);
  float worst = 0;
  for (uint pixel = first + item; pixel < last; pixel += GROUP) {
    const float per_sigma = inverse_sigma[pixel];
    if (per_sigma == 0) continue;
    const float far = fabs(pedestals[at + pixel] - start[pixel]) * per_sigma;
    worst = fmax(worst, far);
    atomic_inc(mine + (uint)fmin(far * BINS_PER_SIGMA, (float)(BINS - 1)));
  }
  atomic_max(&farthest, as_uint(worst));
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint bin = item; bin < BINS; bin += GROUP) {
    if (mine[bin] != 0) atomic_add(bins + bin, mine[bin]);
  }
  if (item == 0) atomic_max(&tracker->worst, farthest);
}
