// SPDX-License-Identifier: Apache-2.0
// Sums pixels from LEAST to MOST, the others are masked. SUM: int or long, which holds what a work item sums in a lane.
#define SUM8 JOIN(SUM, 8)

long sum_of_lanes(SUM8 v) {
  const long8 wide = convert_long8(v);
  const long4 four = wide.lo + wide.hi;
  return four.x + four.y + four.z + four.w;
}

// A group a tile of an image.
kernel void sum_tiles(global const PIXEL* images, uint stride, uint pixels, global const struct Books* books,
                      global long* tile_sums, global uint* tile_masked) {
  local long room[GROUP];
  local uint small_room[GROUP];
  const uint tile = get_group_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const PIXEL* from = images + (size_t)image * stride + (size_t)tile * TILE;
  const uint there = min(pixels - tile * TILE, (uint)TILE);
  SUM8 sums = 0;
  int8 counted = 0;
  uint seen = 0;
  uint at = get_local_id(0) * 8;
  for (; at + 8 <= there; at += GROUP * 8) {
    const PIXEL8 eight = vload8(0, from + at);
    const int8 valid = kept8(eight);
    counted -= valid;
    seen += 8;
    sums += JOIN(convert_, SUM8)(eight) & JOIN(convert_, SUM8)(valid);
  }
  long mine = sum_of_lanes(sums);
  uint masked = seen - (uint)sum_of_eight(counted);
  for (; at < there; ++at) {
    const bool valid = kept(from[at]);
    mine += valid ? (long)from[at] : 0;
    masked += valid ? 0 : 1;
  }
  const long sum = sum_of_group_long(mine, room);
  const uint all_masked = sum_of_group(masked, small_room);
  if (get_local_id(0) != 0) return;
  tile_sums[image * get_num_groups(0) + tile] = sum;
  tile_masked[image * get_num_groups(0) + tile] = all_masked;
}

// A group an image.
kernel void settle_sums(global struct Books* books, global const long* tile_sums, global const uint* tile_masked,
                        uint tiles, uint step, uint column, long least, long most, uint most_masked) {
  local long room[GROUP];
  local uint small_room[GROUP];
  const uint number = get_group_id(0);
  global struct Books* image = books + number;
  if (image->work == 0) return;
  // Whoever settles changes `work`: all have read it before.
  barrier(CLK_GLOBAL_MEM_FENCE);
  long mine = 0;
  uint my_masked = 0;
  for (uint tile = get_local_id(0); tile < tiles; tile += GROUP) {
    mine += tile_sums[number * tiles + tile];
    my_masked += tile_masked[number * tiles + tile];
  }
  const long sum = sum_of_group_long(mine, room);
  const uint masked = sum_of_group(my_masked, small_room);
  if (get_local_id(0) != 0) return;
  image->scalars[column] = as_ulong(sum);
  image->scalars[column + 1] = masked;
  veto(image, masked > most_masked ? 3 : sum < least ? 1 : sum > most ? 2 : 0, step);
}
