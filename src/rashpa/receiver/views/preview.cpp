// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/preview.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::receiver {

namespace {

/// Returns true when something has come out of the pipeline: pixels, their chunk, or a list.
bool is_made(const StackImage& image) noexcept {
  return image.pixels != nullptr || !image.chunk.empty() || image.sparse.index != nullptr;
}

}  // namespace

void reserve_for(const sink::Output& output, std::uint32_t lost_per_image, Preview& preview) {
  const Results& results = output.results;
  preview.pixels.reserve(output.image_bytes());
  preview.lost.reserve(lost_per_image);
  for (std::size_t t = 0; t < results.tables.size(); ++t) {
    const Table& table = results.tables[t];
    preview.tables[t].reserve(table.columns.size() * std::min(table.capacity, Preview::kMostRows));
  }
  for (std::size_t p = 0; p < results.profiles.size(); ++p) {
    preview.profiles[p].reserve(results.profiles[p].arrays.size() * results.profiles[p].bins());
  }
}

Previews::Previews(const sink::Output& output, std::uint32_t lost_per_image)
    : output_(output), rooms_(std::make_shared<Rooms>()) {
  for (Room& room : rooms_->rooms) reserve_for(output, lost_per_image, room.preview);
}

std::shared_ptr<const Preview> Previews::latest() const {
  wanted_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(rooms_->lock);
  if (!rooms_->filled) return nullptr;
  Room* room = &rooms_->rooms[rooms_->latest];
  ++room->readers;
  return {&room->preview, [rooms = rooms_, room](const Preview*) {
            const std::lock_guard back(rooms->lock);
            --room->readers;
          }};
}

void Previews::keep(const Stack& stack) {
  const auto images = stack.view();
  const auto newest = std::find_if(images.rbegin(), images.rend(), [](const StackImage& image) {
    return image.decision == Decision::accepted && is_made(image);
  });
  if (newest == images.rend()) return;
  Room* spare = nullptr;
  {
    const std::lock_guard lock(rooms_->lock);
    spare = &rooms_->rooms[1 - rooms_->latest];
    if (spare->readers > 0) return;  // the next stack will do
  }
  copy_image(*newest, output_, {}, spare->preview);
  if (!stack.intact(*newest, spare->preview.pixels.data())) return;
  const std::lock_guard lock(rooms_->lock);
  rooms_->latest = 1 - rooms_->latest;
  rooms_->filled = true;
  wanted_.store(false, std::memory_order_relaxed);
}

void copy_image(const StackImage& image, const sink::Output& output, const ImageForm& arriving, Preview& into) {
  const Results& results = output.results;
  into.index = image.index;
  into.frame_number = image.frame_number;
  into.timestamp_ns = image.timestamp_ns;
  into.completeness = image.completeness;
  into.decision = image.decision;
  into.reason = image.reason;
  into.arriving = !is_made(image);
  into.lost.assign(image.lost_runs().begin(), image.lost_runs().end());
  into.scalars = image.scalars;
  for (std::size_t t = 0; t < results.tables.size(); ++t) {
    const TableView& view = image.tables[t];
    const std::size_t values = results.tables[t].columns.size() * std::min(view.rows, Preview::kMostRows);
    into.tables[t].assign(view.values, view.values + values);
  }
  for (std::size_t p = 0; p < results.profiles.size(); ++p) {
    const double* values = image.profiles[p].values;
    const std::size_t count = values == nullptr ? 0 : results.profiles[p].arrays.size() * results.profiles[p].bins();
    into.profiles[p].assign(values, values + count);
  }
  into.form = into.arriving ? arriving : ImageForm{output.width, output.height, output.pixel};
  if (into.arriving) {
    into.pixels.assign(image.raw, image.raw + arriving.bytes());
    return;
  }
  if (image.pixels != nullptr) {
    into.pixels.assign(image.pixels, image.pixels + output.image_bytes());
    return;
  }
  into.pixels.assign(output.image_bytes(), std::byte{});
  if (!image.chunk.empty()) {
    kernel::bitshuffle_lz4::decompress(image.chunk, pixel_bytes(output.pixel), into.pixels);
    return;
  }
  const std::size_t bytes = pixel_bytes(output.pixel);
  const auto* value = static_cast<const std::byte*>(image.sparse.value);
  for (std::uint32_t i = 0; i < image.sparse.count; ++i) {
    std::memcpy(into.pixels.data() + image.sparse.index[i] * bytes, value + i * bytes, bytes);
  }
}

}  // namespace rashpa::receiver
