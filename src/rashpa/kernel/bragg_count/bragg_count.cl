// SPDX-License-Identifier: Apache-2.0
// Counts pixels from LEAST to MOST in tiles of TILE pixels: a group a tile of an image.
kernel void count_tiles(global const PIXEL* images, uint stride, uint pixels, global const struct Books* books,
                        global uint* tile_counts) {
  local uint room[GROUP];
  const uint tile = get_group_id(0);
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const PIXEL* from = images + (size_t)image * stride + (size_t)tile * TILE;
  const uint there = min(pixels - tile * TILE, (uint)TILE);
  int8 found = 0;
  uint at = get_local_id(0) * 8;
  for (; at + 8 <= there; at += GROUP * 8) found -= kept8(vload8(0, from + at));
  uint mine = sum_of_eight(found);
  for (; at < there; ++at) mine += kept(from[at]) ? 1 : 0;  // the last pixels, one work item has them
  const uint sum = sum_of_group(mine, room);
  if (get_local_id(0) == 0) tile_counts[image * get_num_groups(0) + tile] = sum;
}
