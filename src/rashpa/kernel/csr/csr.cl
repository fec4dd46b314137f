// SPDX-License-Identifier: Apache-2.0
// Pixels from LEAST to MOST as sorted lists: mark and count tiles, find where each tile's entries begin, write them. A
// work item has WORDS words of 64 pixels that lie together, so that its entries do, too.
#define TILE_WORDS (GROUP * WORDS)
#define OVERFLOW 0xFFFFFFFFu

// A group a tile of an image.
kernel void mark_tiles(global const PIXEL* images, uint stride, uint pixels, global const struct Books* books,
                       global ulong* marks, uint words, global uint* tile_counts) {
  local uint room[GROUP];
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const PIXEL* from = images + (size_t)image * stride;
  const int8 places = (int8)(1, 2, 4, 8, 16, 32, 64, 128);
  const uint first = get_group_id(0) * TILE_WORDS + get_local_id(0) * WORDS;
  uint mine = 0;
  for (uint word = first; word < min(first + WORDS, words); ++word) {
    ulong bits = 0;
    const uint there = min(pixels - word * 64, 64u);
    if (there == 64) {
      for (uint eighth = 0; eighth < 8; ++eighth) {
        const int8 found = kept8(vload8(0, from + (size_t)word * 64 + eighth * 8));
        if (any(found)) bits |= (ulong)(uint)sum_of_eight(found & places) << (eighth * 8);
      }
    } else {
      for (uint k = 0; k < there; ++k) bits |= (ulong)(kept(from[(size_t)word * 64 + k]) ? 1 : 0) << k;
    }
    marks[(size_t)image * words + word] = bits;
    mine += (uint)popcount(bits);
  }
  const uint sum = sum_of_group(mine, room);
  if (get_local_id(0) == 0) tile_counts[image * get_num_groups(0) + get_group_id(0)] = sum;
}

// The same where a kernel before has left the marks.
kernel void count_tiles(global const ulong* marks, uint words, global const struct Books* books,
                        global uint* tile_counts) {
  local uint room[GROUP];
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  const uint first = get_group_id(0) * TILE_WORDS + get_local_id(0) * WORDS;
  uint mine = 0;
  for (uint word = first; word < min(first + WORDS, words); ++word) {
    mine += (uint)popcount(marks[(size_t)image * words + word]);
  }
  const uint sum = sum_of_group(mine, room);
  if (get_local_id(0) == 0) tile_counts[image * get_num_groups(0) + get_group_id(0)] = sum;
}

// A group an image: counts become the tiles' first entries.
kernel void place_tiles(global struct Books* books, global uint* tile_counts, uint tiles, uint capacity) {
  local uint room[GROUP];
  const uint image = get_group_id(0);
  if (books[image].work == 0) return;
  global uint* mine = tile_counts + image * tiles;
  const uint share = (tiles + GROUP - 1) / GROUP;
  const uint first = min((uint)get_local_id(0) * share, tiles);
  const uint last = min(first + share, tiles);
  uint sum = 0;
  for (uint tile = first; tile < last; ++tile) sum += mine[tile];
  uint total;
  uint begin = scan_of_group(sum, room, &total);
  for (uint tile = first; tile < last; ++tile) {
    const uint count = mine[tile];
    mine[tile] = begin;
    begin += count;
  }
  if (get_local_id(0) != 0) return;
  books[image].entries = total > capacity ? OVERFLOW : total;
  if (total > capacity) books[image].work = 0;  // kernels behind do not see it
}

// A group a tile of an image.
kernel void write_tiles(global const PIXEL* images, uint stride, global const ulong* marks, uint words,
                        global const struct Books* books, global const uint* tile_begins, global uint* index,
                        global PIXEL* value, uint list_stride) {
  local uint room[GROUP];
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  global const ulong* of_image = marks + (size_t)image * words;
  const uint first = get_group_id(0) * TILE_WORDS + get_local_id(0) * WORDS;
  const uint last = min(first + WORDS, words);
  uint mine = 0;
  for (uint word = first; word < last; ++word) mine += (uint)popcount(of_image[word]);
  uint total;
  size_t at = scan_of_group(mine, room, &total);
  if (mine == 0) return;
  at += (size_t)image * list_stride + tile_begins[image * get_num_groups(0) + get_group_id(0)];
  global const PIXEL* from = images + (size_t)image * stride;
  for (uint word = first; word < last; ++word) {
    for (ulong left = of_image[word]; left != 0; left &= left - 1, ++at) {
      const uint pixel = word * 64 + 63 - (uint)clz(left & (0 - left));
      index[at] = pixel;
      value[at] = from[pixel];
    }
  }
}
