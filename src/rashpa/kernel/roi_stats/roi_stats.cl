// SPDX-License-Identifier: Apache-2.0
// Sum, least and largest value of pixels from LEAST to MOST in parts of rectangles. A group a part of an image.

// Part and Stats of roi_stats_opencl.cpp and roi_stats.hpp.
struct Part {
  uint first;  // pixel of the image
  uint width;
  uint rows;
  uint unused;
};
struct Stats {
  long sum;
  long least;
  long most;
  ulong counted;
};

kernel void look(global const PIXEL* images, uint stride, uint width, global const struct Books* books,
                 global const struct Part* parts, global struct Stats* found) {
  local struct Stats room[GROUP];
  const uint image = get_group_id(1);
  if (books[image].work == 0) return;
  const struct Part part = parts[get_group_id(0)];
  global const PIXEL* from = images + (size_t)image * stride + part.first;
  const uint item = get_local_id(0);
  struct Stats mine = {0, LONG_MAX, LONG_MIN, 0};
  for (uint row = 0; row < part.rows; ++row) {
    for (uint x = item; x < part.width; x += GROUP) {
      const PIXEL pixel = from[(size_t)row * width + x];
      if (!kept(pixel)) continue;
      const long value = pixel;
      mine.sum += value;
      mine.least = min(mine.least, value);
      mine.most = max(mine.most, value);
      mine.counted += 1;
    }
  }
  room[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = GROUP / 2; distance != 0; distance /= 2) {
    if (item < distance) {
      room[item].sum += room[item + distance].sum;
      room[item].least = min(room[item].least, room[item + distance].least);
      room[item].most = max(room[item].most, room[item + distance].most);
      room[item].counted += room[item + distance].counted;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) found[image * get_num_groups(0) + get_group_id(0)] = room[0];
}
