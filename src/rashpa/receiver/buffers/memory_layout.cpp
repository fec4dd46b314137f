// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/memory_layout.hpp"

#include <fmt/format.h>

#include <set>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dtp_id.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/system/page.hpp"

namespace rashpa::receiver {

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool overlap(const DtpConfig& a, const DtpConfig& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

void check(const BufferConfig& buffer) {
  if (buffer.width == 0 || buffer.height == 0) {
    throw ConfigError(
        fmt::format("buffer '{}': an image of {} x {} pixels has no pixel", buffer.name, buffer.width, buffer.height));
  }
  if (buffer.stack == 0 || buffer.slots < 2 * buffer.stack || buffer.slots % buffer.stack != 0) {
    throw ConfigError(fmt::format(
        "buffer '{}': slots = {} must be a multiple of stack = {} and hold at least two stacks; try slots = {}",
        buffer.name, buffer.slots, buffer.stack, 4 * std::max(buffer.stack, 1U)));
  }
  if (buffer.images == 0)
    throw ConfigError(fmt::format("buffer '{}': its time slice holds no image of the run", buffer.name));
  if (buffer.deadline_ns <= 0) throw ConfigError(fmt::format("buffer '{}': deadline_ms must be above 0", buffer.name));
  if (buffer.quiet_ns < 0) throw ConfigError(fmt::format("buffer '{}': quiet_ms must not be negative", buffer.name));
  if (buffer.sinks.empty())
    throw ConfigError(
        fmt::format("buffer '{}': give it a sink, kind = \"null\" if nothing is to be kept", buffer.name));
  if (buffer.dtps.empty()) throw ConfigError(fmt::format("buffer '{}': no DTP writes into it", buffer.name));
  for (std::size_t i = 0; i < buffer.dtps.size(); ++i) {
    const DtpConfig& dtp = buffer.dtps[i];
    if (!inside({dtp.x, dtp.y, dtp.width, dtp.height}, buffer.width, buffer.height)) {
      throw ConfigError(
          fmt::format("buffer '{}': DTP {} at x={} y={} with {} x {} pixels is not inside the image of {} x {}",
                      buffer.name, dtp.id, dtp.x, dtp.y, dtp.width, dtp.height, buffer.width, buffer.height));
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (overlap(dtp, buffer.dtps[other])) {
        throw ConfigError(fmt::format("buffer '{}': DTPs {} and {} overlap in the image", buffer.name,
                                      buffer.dtps[other].id, dtp.id));
      }
    }
  }
}

}  // namespace

MemoryLayout lay_out(const std::vector<BufferConfig>& buffers, unit::ImagesIn images) {
  if (buffers.empty()) throw ConfigError("receiver: no buffer is configured");
  MemoryLayout layout;
  std::set<std::uint32_t> ids;
  for (const BufferConfig& buffer : buffers) {
    check(buffer);
    const std::uint64_t pixel = pixel_bytes(buffer.pixel);
    const std::uint64_t pitch = buffer.width * pixel;
    std::uint64_t& end = images == unit::ImagesIn::device ? layout.device_bytes : layout.bytes;
    const MemoryLayout::Ring ring{.pixels_offset = end, .slot_bytes = round_up(pitch * buffer.height, kPage)};
    layout.buffers.push_back(ring);
    end += ring.slot_bytes * buffer.slots;
    for (const DtpConfig& dtp : buffer.dtps) {
      if (dtp.id > kLargestDtpId || !ids.insert(dtp.id).second) {
        throw ConfigError(
            fmt::format("buffer '{}': DTP id {} is used twice or above {}", buffer.name, dtp.id, kLargestDtpId));
      }
      layout.dtps.push_back({.pixels_offset = ring.pixels_offset,
                             .slot_bytes = ring.slot_bytes,
                             .slots = buffer.slots,
                             .first_line_offset = dtp.y * pitch + dtp.x * pixel,
                             .pitch = pitch,
                             .line_bytes = static_cast<std::uint32_t>(dtp.width * pixel),
                             .lines = dtp.height,
                             .records_offset = layout.bytes});
      layout.bytes += round_up((buffer.slots + 1ULL) * FrameRecord::kBytes, kPage);  // and the skip record
    }
  }
  return layout;
}

}  // namespace rashpa::receiver
