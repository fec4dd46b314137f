// SPDX-License-Identifier: Apache-2.0
// What a count of pixels says of an image: its column, its verdict. A group an image.

void settle(global struct Books* image, uint counted, uint step, uint column, uint least, uint most) {
  image->scalars[column] = counted;
  veto(image, counted < least ? 1 : counted > most ? 2 : 0, step);
}

kernel void settle_tiles(global struct Books* books, global const uint* tile_counts, uint tiles, uint step, uint column,
                         uint least, uint most) {
  local uint room[GROUP];
  global struct Books* image = books + get_group_id(0);
  const bool work = image->work != 0;
  uint mine = 0;
  if (work) {
    for (uint tile = get_local_id(0); tile < tiles; tile += GROUP) mine += tile_counts[get_group_id(0) * tiles + tile];
  }
  const uint counted = sum_of_group(mine, room);
  if (work && get_local_id(0) == 0) settle(image, counted, step, column, least, most);
}

kernel void settle_books(global struct Books* books, uint step, uint column, uint least, uint most) {
  global struct Books* image = books + get_group_id(0);
  if (image->work != 0) settle(image, image->counted, step, column, least, most);
}
