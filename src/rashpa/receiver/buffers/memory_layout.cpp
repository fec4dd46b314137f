// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/memory_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dtp_id.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"

namespace rashpa::receiver {

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool overlap(const DtpConfig& a, const DtpConfig& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// Collects what is wrong, so that a writer of orders mends all of it at once.
class LayoutFaults {
 public:
  template <typename... Args>
  void add(bool wrong, fmt::format_string<const Args&...> text, const Args&... args) {
    if (wrong && ++count_ <= kMost) texts_.push_back(fmt::format(text, args...));
  }
  void raise() const {
    if (texts_.empty()) return;
    const std::string more = count_ > kMost ? fmt::format("\nand {} more", count_ - kMost) : "";
    throw ConfigError(fmt::format("{}{}", fmt::join(texts_, "\n"), more));
  }

 private:
  static constexpr std::size_t kMost = 16;  // are told in words
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
};

void check_places(const BufferConfig& buffer, LayoutFaults& faults) {
  for (std::size_t i = 0; i < buffer.dtps.size(); ++i) {
    const DtpConfig& dtp = buffer.dtps[i];
    faults.add(!inside({dtp.x, dtp.y, dtp.width, dtp.height}, buffer.width, buffer.height),
               "buffer '{}': DTP {} at x={} y={} with {} x {} pixels is not inside the image of {} x {}; move it, or "
               "make the image larger",
               buffer.name, dtp.id, dtp.x, dtp.y, dtp.width, dtp.height, buffer.width, buffer.height);
    for (std::size_t other = 0; other < i; ++other) {
      faults.add(overlap(dtp, buffer.dtps[other]),
                 "buffer '{}': DTPs {} and {} overlap in the image; place them beside each other", buffer.name,
                 buffer.dtps[other].id, dtp.id);
    }
  }
}

void check(const BufferConfig& buffer, std::set<std::uint32_t>& ids, LayoutFaults& faults) {
  faults.add(buffer.width == 0 || buffer.height == 0,
             "buffer '{}': an image of {} x {} pixels has no pixel; give a width and a height of 1 or more",
             buffer.name, buffer.width, buffer.height);
  faults.add(buffer.stack == 0 || buffer.slots < 2 * buffer.stack || buffer.slots % buffer.stack != 0,
             "buffer '{}': slots = {} must be a multiple of stack = {} and hold at least two stacks; try slots = {}",
             buffer.name, buffer.slots, buffer.stack, 4 * std::max(buffer.stack, 1U));
  faults.add(buffer.images == 0,
             "buffer '{}': its time slice holds no image of the run; make the run longer, or phase smaller",
             buffer.name);
  faults.add(buffer.deadline_ms == 0, "buffer '{}': deadline_ms is 0; give 1 or more", buffer.name);
  faults.add(buffer.sinks.empty(), "buffer '{}': it has no sink; give it one, kind = \"null\" to keep nothing",
             buffer.name);
  faults.add(buffer.dtps.empty(), "buffer '{}': no DTP writes into it; connect one", buffer.name);
  check_places(buffer, faults);
  for (const DtpConfig& dtp : buffer.dtps) {
    faults.add(dtp.id > kLargestDtpId || !ids.insert(dtp.id).second,
               "buffer '{}': DTP id {} is used twice or above {}; give another id", buffer.name, dtp.id, kLargestDtpId);
  }
}

}  // namespace

std::uint32_t event_lines_of(const BufferConfig& buffer) {
  constexpr std::string_view kLines = "lines:";
  const std::string_view text = buffer.events;
  if (text == "image") return 0;
  std::uint32_t lines = 0;
  const std::string_view number = text.substr(std::min(text.size(), kLines.size()));
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), lines);
  if (text.starts_with(kLines) && problem == std::errc{} && end == number.data() + number.size() && lines > 0) {
    return lines;
  }
  throw ConfigError(fmt::format("buffer '{}': events is \"{}\"; give \"image\", or \"lines:N\" with N of 1 or more",
                                buffer.name, text));
}

MemoryLayout lay_out(const std::vector<BufferConfig>& buffers, unit::ImagesIn images, LastWords words) {
  if (buffers.empty()) throw ConfigError("receiver: no buffer is configured; give it at least one");
  MemoryLayout layout;
  LayoutFaults faults;
  std::set<std::uint32_t> ids;
  for (const BufferConfig& buffer : buffers) check(buffer, ids, faults);
  faults.raise();
  for (const BufferConfig& buffer : buffers) {
    const std::uint64_t pixel = pixel_bytes(buffer.pixel);
    const std::uint64_t pitch = buffer.width * pixel;
    std::uint64_t& end = images == unit::ImagesIn::device ? layout.device_bytes : layout.bytes;
    const MemoryLayout::Ring ring{.pixels_offset = end, .slot_bytes = round_up(pitch * buffer.height, kPage)};
    layout.buffers.push_back(ring);
    end += ring.slot_bytes * buffer.slots;
    for (const DtpConfig& dtp : buffer.dtps) {
      layout.dtps.push_back({.pixels_offset = ring.pixels_offset,
                             .slot_bytes = ring.slot_bytes,
                             .slots = buffer.slots,
                             .first_line_offset = dtp.y * pitch + dtp.x * pixel,
                             .pitch = pitch,
                             .line_bytes = static_cast<std::uint32_t>(dtp.width * pixel),
                             .lines = dtp.height,
                             .records_offset = layout.bytes,
                             .event_lines = event_lines_of(buffer)});
      layout.bytes += round_up(layout.dtps.back().records_bytes(), kPage);
    }
  }
  if (words == LastWords::behind_lines) {
    std::uint64_t& end = images == unit::ImagesIn::device ? layout.device_bytes : layout.bytes;
    layout.words = end;
    end += round_up(layout.dtps.size() * link::kWordDistance, kPage);
  }
  return layout;
}

}  // namespace rashpa::receiver
