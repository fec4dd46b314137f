// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/sinks/stack_copies.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::receiver {

StackCopies::StackCopies(const sink::Output& output, std::uint32_t stacks, std::uint32_t lost_runs)
    : pixel_bytes_(output.sparse ? 0
                   : output.chunked
                       ? kernel::bitshuffle_lz4::compressed_bound(output.image_bytes(), pixel_bytes(output.pixel))
                       : output.image_bytes()),
      chunked_(output.chunked),
      list_capacity_(output.sparse ? output.list_capacity : 0),
      lost_runs_(lost_runs),
      pixels_(std::max<std::size_t>(1, pixel_bytes_ * output.stack * stacks), memory::MemoryKind::pageable),
      tables_(output.results.tables),
      copies_(stacks),
      free_(stacks) {
  const std::size_t images = std::size_t{output.stack} * stacks;
  index_.resize(images * list_capacity_);
  value_bytes_ = pixel_bytes(output.pixel);
  value_.resize(images * list_capacity_ * value_bytes_);
  lost_.resize(images * lost_runs_);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    table_values_[t].resize(images * tables_[t].capacity * tables_[t].columns.size());
  }
  for (const Profile& profile : output.results.profiles) {
    profiles_[profile_values_.size()].resize(images * profile.bins() * profile.arrays.size());
    profile_values_.push_back(profile.bins() * profile.arrays.size());
  }
  for (std::uint32_t slot = 0; slot < stacks; ++slot) {
    copies_[slot].slot = slot;
    copies_[slot].images.resize(output.stack);
    free_.push_must(&copies_[slot]);
  }
}

Stack* StackCopies::take(const Stack& stack) noexcept {
  Stack* copy = nullptr;
  if (!free_.try_pop(copy)) return nullptr;
  copy->number = stack.number;
  copy->count = stack.count;
  copy->ready_ns = stack.ready_ns;
  copy->decided_ns = stack.decided_ns;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    copy_image(stack, stack.images[i], copy->images[i], std::size_t{copy->slot} * copy->images.size() + i);
  }
  return copy;
}

void StackCopies::copy_tables(const StackImage& from, StackImage& to, std::size_t place) noexcept {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const std::size_t columns = tables_[t].columns.size();
    Scalar* values = table_values_[t].data() + place * tables_[t].capacity * columns;
    const std::uint32_t rows = std::min(from.tables[t].rows, tables_[t].capacity);
    std::copy_n(from.tables[t].values, rows * columns, values);
    to.tables[t] = {values, rows};
  }
}

void StackCopies::copy_profiles(const StackImage& from, StackImage& to, std::size_t place) noexcept {
  for (std::size_t p = 0; p < profile_values_.size(); ++p) {
    double* values = profiles_[p].data() + place * profile_values_[p];
    std::copy_n(from.profiles[p].values, profile_values_[p], values);
    to.profiles[p] = {values};
  }
}

void StackCopies::copy_image(const Stack& stack, const StackImage& from, StackImage& to, std::size_t place) noexcept {
  to = from;
  to.raw = nullptr;
  to.sums = {};
  to.pixels = nullptr;
  to.chunk = {};
  to.sparse = {};
  to.tables = {};
  to.profiles = {};
  to.lost = lost_.data() + place * lost_runs_;
  to.lost_count = std::min(from.lost_count, static_cast<std::uint32_t>(lost_runs_));
  std::copy_n(from.lost, to.lost_count, to.lost);
  if (from.decision != Decision::accepted) return;
  copy_tables(from, to, place);
  copy_profiles(from, to, place);
  if (list_capacity_ > 0) {
    if (from.sparse.index == nullptr || from.sparse.count > list_capacity_) return to.fail(ErrorReason::storage);
    std::copy_n(from.sparse.index, from.sparse.count, index_.data() + place * list_capacity_);
    std::byte* values = value_.data() + place * list_capacity_ * value_bytes_;
    std::memcpy(values, from.sparse.value, from.sparse.count * value_bytes_);
    to.sparse = {index_.data() + place * list_capacity_, values, from.sparse.count};
  } else if (std::byte* target = pixels_.data() + place * pixel_bytes_; chunked_) {
    if (from.chunk.empty() || from.chunk.size() > pixel_bytes_) return to.fail(ErrorReason::storage);
    std::memcpy(target, from.chunk.data(), from.chunk.size());
    to.chunk = {target, from.chunk.size()};
  } else {
    std::memcpy(target, from.dense(), pixel_bytes_);
    to.pixels = target;
  }
  if (!stack.intact(from, to.pixels)) to.fail(ErrorReason::overwritten);
}

}  // namespace rashpa::receiver
