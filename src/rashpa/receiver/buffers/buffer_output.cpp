// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/buffer_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/frame/dealt.hpp"

namespace rashpa::receiver {

std::shared_ptr<sink::SpecialMask> special_mask_of(const BufferConfig& buffer) {
  if (buffer.special.empty()) return nullptr;
  return std::make_shared<sink::SpecialMask>(buffer.pixel, buffer.special, std::size_t{buffer.width} * buffer.height);
}

Output output_of(const BufferConfig& buffer, const unit::Output& made, std::uint32_t run,
                 std::shared_ptr<const sink::SpecialMask> mask) {
  return {.buffer = buffer.name,
          .run = run,
          .width = made.width,
          .height = made.height,
          .pixel = made.pixel,
          .sparse = made.list_capacity != 0,
          .list_capacity = static_cast<std::uint32_t>(made.list_capacity),
          .stack = buffer.stack,
          .images = buffer.most(),
          .end = buffer.end,
          .slice = buffer.dealt ? kToldByRecords : buffer.slice,
          // photons that are stored ones of before are described as photons
          .delivered = made.delivered && made.masked != kernel::Masked::minimum,
          .largest_count = largest_count_of(buffer.pixel, buffer.special),
          .special = made.delivered ? buffer.special : std::vector<SpecialValue>{},
          .special_mask = std::move(mask),
          .results = made.results,
          .chunked = made.chunked};
}

unit::Delivery delivery_of(const std::vector<SinkConfig>& sinks) {
  const auto stores_chunks = [](const SinkConfig& one) { return one.chunks != sink::ChunkPart::none; };
  const auto reads_pixels = [](const SinkConfig& one) { return one.reads_pixels; };
  const bool chunks =
      std::any_of(sinks.begin(), sinks.end(), stores_chunks) && std::none_of(sinks.begin(), sinks.end(), reads_pixels);
  return chunks ? unit::Delivery::chunk_in_place : unit::Delivery::list_in_place;
}

std::shared_ptr<sink::ChunkBoard> chunk_board_of(const std::vector<SinkConfig>& sinks, const Output& output,
                                                 std::uint32_t slots) {
  const auto count = [&](sink::ChunkPart part) {
    return std::count_if(sinks.begin(), sinks.end(), [&](const SinkConfig& one) {
      return one.chunks == part && (part == sink::ChunkPart::takes || one.on_full == OnFull::wait);
    });
  };
  const auto takers = count(sink::ChunkPart::takes);
  if (output.sparse || output.chunked || takers == 0 || count(sink::ChunkPart::makes) == 0) return nullptr;
  return std::make_shared<sink::ChunkBoard>(slots, static_cast<unsigned>(takers));
}

Output output_for(const SinkConfig& sink, const Output& output, std::shared_ptr<sink::ChunkBoard> chunks) {
  Output own = output;
  const bool drops = sink.chunks == sink::ChunkPart::makes && sink.on_full != OnFull::wait;
  if (sink.chunks != sink::ChunkPart::none && !drops) own.chunks = std::move(chunks);
  return own;
}

std::string full_list_text(const Output& output) {
  return fmt::format(
      "more than {} of its {} pixels are at or above the threshold, and its list holds no more; set a larger capacity "
      "of kernel csr, or a higher threshold",
      output.list_capacity, std::uint64_t{output.width} * output.height);
}

}  // namespace rashpa::receiver
