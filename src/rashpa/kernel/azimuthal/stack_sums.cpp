// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/stack_sums.hpp"

#include <algorithm>
#include <cstring>

namespace rashpa::kernel::azimuthal {

namespace {

constexpr std::size_t kBlock = Prepared::kBlock;

std::size_t chunks_of(std::size_t images) noexcept {
  return (images + StackSums::kTogether - 1) / StackSums::kTogether;
}

}  // namespace

StackSums::StackSums(const Prepared& prepared, PixelFormat format, std::size_t images)
    : prepared_(&prepared),
      format_(format),
      row_(prepared.errors() == Errors::poisson ? 2 * kTogether : kTogether),
      chunk_((prepared.bins() + 1) * row_),
      rows_(chunks_of(images) * chunk_ * sizeof(std::uint32_t), memory::MemoryKind::huge),
      room_(chunks_of(images)),
      all_room_(is_signed(format) ? 0x7FFFFFFFU : 0xFFFFFFFFU) {
  std::memset(rows_.data(), 0, room_.size() * chunk_ * sizeof(std::uint32_t));
  std::fill(room_.begin(), room_.end(), all_room_);
}

bool StackSums::takes(const Prepared& prepared, PixelFormat format) noexcept {
  return !real_sums(prepared, format) && prepared.errors() != Errors::azimuthal && prepared.bins() <= kFewBins;
}

void StackSums::add(const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last,
                    Scratch& scratch, Sums* sums) noexcept {
  // blocks lie at multiples of their size
  const std::size_t from = std::min((first + kBlock - 1) / kBlock * kBlock, last);
  const std::size_t to = std::max(from, last / kBlock * kBlock);
  for (std::size_t i = 0; i < count; i += kTogether) {
    const std::size_t some = std::min(kTogether, count - i);
    if (some < kFewest || !is_dense(format_, images + i, some, from, to)) {
      for (std::size_t j = i; j < i + some; ++j) {
        azimuthal::add(*prepared_, images[j], format_, first, last, scratch, sums[j]);
      }
      continue;
    }
    for (std::size_t j = i; j < i + some; ++j) {
      add_reference(*prepared_, images[j], format_, first, from, sums[j]);
    }
    add_together(*this, i / kTogether, images + i, some, from, to, sums + i);
    for (std::size_t j = i; j < i + some; ++j) {
      add_reference(*prepared_, images[j], format_, to, last, sums[j]);
    }
  }
}

void StackSums::flush_chunk(std::size_t chunk, Sums* sums, std::size_t count) noexcept {
  if (room_[chunk] == all_room_) return;
  room_[chunk] = all_room_;
  std::uint32_t* const from = rows(chunk);
  const bool some_signed = is_signed(format_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* at = from + i;
    for (std::size_t bin = 0; bin < sums[i].signal.size(); ++bin, at += row_) {
      sums[i].signal[bin] += some_signed ? std::int64_t{static_cast<std::int32_t>(*at)} : std::int64_t{*at};
    }
    at = from + kTogether + i;
    for (std::size_t bin = 0; bin < sums[i].variance.size(); ++bin, at += row_) sums[i].variance[bin] += *at;
  }
  std::memset(from, 0, chunk_ * sizeof(std::uint32_t));
}

void StackSums::flush(Sums* sums, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; i += kTogether) {
    flush_chunk(i / kTogether, sums + i, std::min(kTogether, count - i));
  }
}

}  // namespace rashpa::kernel::azimuthal
