// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/descriptor_generator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"

namespace rashpa::transfer {

DescriptorGenerator::DescriptorGenerator(const Region& region, std::uint64_t pitch_bytes, std::uint32_t pixel_bytes,
                                         const Placement& placement, std::uint32_t largest_message)
    : placement_(placement),
      pitch_(pitch_bytes),
      origin_(region.y * pitch_bytes + static_cast<std::uint64_t>(region.x) * pixel_bytes) {
  if (placement.line_bytes != region.width * pixel_bytes || placement.lines != region.height) {
    throw ConfigError(
        fmt::format("transfer: a region of {} x {} pixels of {} bytes does not match its placement of {} lines of {} "
                    "bytes; give both the same size",
                    region.width, region.height, pixel_bytes, placement.lines, placement.line_bytes));
  }
  if (largest_message == 0 || placement.slots == 0) {
    throw ConfigError("transfer: the link's largest message or the ring is 0; give 1 or more");
  }
  runs_ = runs_of(placement, pitch_bytes, largest_message);
}

void DescriptorGenerator::begin(const std::byte* frame, std::uint64_t index, std::uint32_t line) noexcept {
  source_ = frame + origin_;
  destination_ = placement_.image_offset(index);
  next_line_ = line;
  end_line_ = placement_.lines;
  next_byte_ = 0;
}

std::size_t DescriptorGenerator::next(std::span<link::BufferDescriptor> batch) noexcept {
  std::size_t made = 0;
  while (made < batch.size() && next_line_ < end_line_) {
    const std::byte* source = line(next_line_) + next_byte_;
    const std::uint64_t destination = destination_ + next_line_ * placement_.pitch + next_byte_;
    std::uint32_t bytes = 0;
    if (runs_.piece > 0) {
      bytes = std::min(runs_.piece, placement_.line_bytes - next_byte_);
      next_byte_ += bytes;
      if (next_byte_ == placement_.line_bytes) {
        next_byte_ = 0;
        ++next_line_;
      }
    } else {
      const std::uint32_t lines = std::min(runs_.lines_per_run, end_line_ - next_line_);
      bytes = lines * placement_.line_bytes;
      next_line_ += lines;
    }
    batch[made++] = {source, destination, bytes};
  }
  return made;
}

std::uint64_t DescriptorGenerator::per_image() const noexcept {
  if (runs_.piece > 0)
    return static_cast<std::uint64_t>(placement_.lines) * ((placement_.line_bytes + runs_.piece - 1) / runs_.piece);
  return (placement_.lines + runs_.lines_per_run - 1) / runs_.lines_per_run;
}

}  // namespace rashpa::transfer
