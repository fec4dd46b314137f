// SPDX-License-Identifier: Apache-2.0
// CRC32C of lines of images. A group a job: some lines of one length, which end with the last work item's. What is
// inverted at the beginning and the end is the host's: here zeros in front change nothing.
#define POLYNOMIAL 0x82F63B78u

// Job of checksum_opencl.cpp.
struct Job {
  ulong first;  // byte of the stack
  ulong pitch;
  uint line_bytes;
  uint lines;
  uint share;    // lines of a work item
  uint skipped;  // bytes of the first line that are not there
  uint factors;  // of the shifts by share · line_bytes · 2^level: where they begin
  uint unused;
};

uint product(uint left, uint right) {
  uint sum = 0;
  for (int bit = 31; bit >= 0; --bit) {
    sum ^= right & (0u - (left >> bit & 1u));
    right = right >> 1 ^ (POLYNOMIAL & (0u - (right & 1u)));
  }
  return sum;
}

uint add_byte(uint crc, uchar byte, local const uint* tables) { return tables[(crc ^ byte) & 255] ^ crc >> 8; }

uint add_line(uint crc, global const uchar* images, ulong at, ulong end, local const uint* tables) {
  for (; at < end && at % 4 != 0; ++at) crc = add_byte(crc, images[at], tables);
  for (; at + 4 <= end; at += 4) {
    const uint word = crc ^ *(global const uint*)(images + at);
    crc = tables[768 + (word & 255)] ^ tables[512 + (word >> 8 & 255)] ^ tables[256 + (word >> 16 & 255)] ^
          tables[word >> 24];
  }
  for (; at < end; ++at) crc = add_byte(crc, images[at], tables);
  return crc;
}

kernel void add_lines(global const uchar* images, global const struct Job* jobs, global const uint* all_tables,
                      global const uint* factors, global uint* found) {
  local uint tables[1024];
  local uint room[GROUP];
  const uint item = get_local_id(0);
  const struct Job job = jobs[get_group_id(0)];
  for (uint at = item; at < 1024; at += GROUP) tables[at] = all_tables[at];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint crc = 0;
  const uint missing = GROUP * job.share - job.lines;
  for (uint slot = item * job.share; slot < (item + 1) * job.share; ++slot) {
    if (slot < missing) continue;
    const uint line = slot - missing;
    const ulong begin = job.first + line * job.pitch;
    crc = add_line(crc, images, begin + (line == 0 ? job.skipped : 0), begin + job.line_bytes, tables);
  }
  room[item] = crc;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1, level = 0; distance < GROUP; distance *= 2, ++level) {
    if (item % (2 * distance) == 0) {
      room[item] = product(factors[job.factors + level], room[item]) ^ room[item + distance];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) found[get_group_id(0)] = room[0];
}
