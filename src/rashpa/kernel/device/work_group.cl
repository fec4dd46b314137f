// SPDX-License-Identifier: Apache-2.0
// What every kernel begins with. GROUP: work items of a group; COLUMNS: numbers of an image.
#pragma OPENCL FP_CONTRACT OFF

// ImageBooks of opencl_pass.hpp.
struct Books {
  uint counted;
  uint entries;
  uchar work;
  uchar verdict;
  uchar step;
  uchar failed;
  uchar unused[4];
  ulong scalars[COLUMNS];
};

// Of all work items of the group; `room` has a place for each. Every work item comes here, and gets the sum.
#define SUM_OF_GROUP(NAME, TYPE)                                           \
  TYPE NAME(TYPE mine, local TYPE* room) {                                 \
    const uint item = get_local_id(0);                                     \
    room[item] = mine;                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                          \
    for (uint distance = GROUP / 2; distance != 0; distance /= 2) {        \
      if (item < distance) room[item] += room[item + distance];            \
      barrier(CLK_LOCAL_MEM_FENCE);                                        \
    }                                                                      \
    const TYPE sum = room[0];                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                          \
    return sum;                                                            \
  }
SUM_OF_GROUP(sum_of_group, uint)
SUM_OF_GROUP(sum_of_group_long, long)

// Exclusive: of the work items before this one; `total` is that of all.
uint scan_of_group(uint mine, local uint* room, uint* total) {
  const uint item = get_local_id(0);
  room[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < GROUP; distance *= 2) {
    const uint left = item >= distance ? room[item - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    room[item] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint up_to = room[item];
  *total = room[GROUP - 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  return up_to - mine;
}

// An image that is not kept is worked on no more.
void veto(global struct Books* image, uint verdict, uint step) {
  if (verdict == 0) return;
  image->verdict = (uchar)verdict;
  image->step = (uchar)step;
  image->work = 0;
}
