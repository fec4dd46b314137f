// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/slot_results.hpp"

#include <algorithm>

namespace rashpa::unit::cuda {

SlotResults::SlotResults(const Output& output, const Places& places, const Layout& layout, const Seat* seat)
    : places_(places),
      raw_(layout.images),
      ring_stride_(layout.image_stride),
      decided_(layout.stacks * sizeof(Word)),
      done_(layout.stacks * sizeof(Word)),
      findings_(places.at(layout.stacks) * sizeof(DeviceFinding)),
      scalars_(places.at(layout.stacks) * std::max(1U, places.columns) * sizeof(Scalar)),
      images_(output.pixels && !places.passed_on && seat == nullptr ? places.at(layout.stacks) * places.leaving_stride
                                                                    : 0),
      chunks_(places.at(layout.stacks) * places.chunk_room),
      chunk_bytes_(places.chunk_room != 0 ? places.at(layout.stacks) * sizeof(std::uint32_t) : 0),
      host_images_(seat != nullptr ? seat->joint->images() + seat->first_byte : images_.as<std::byte>()) {}

const std::byte* SlotResults::pixels(std::uint32_t slot, std::uint32_t image) const noexcept {
  if (places_.passed_on) return raw_ + places_.at(slot, image) * ring_stride_;
  return host_images_ + places_.at(slot, image) * places_.leaving_stride;
}

std::span<const std::byte> SlotResults::chunk(std::uint32_t slot, std::uint32_t image) const noexcept {
  const std::size_t at = places_.at(slot, image);
  return {chunks_.as<std::byte>() + at * places_.chunk_room, chunk_bytes_.as<std::uint32_t>()[at]};
}

void SlotResults::address(std::uint32_t slot, Deliver& delivery) const noexcept {
  delivery.host_images = host_images_ + places_.at(slot) * places_.leaving_stride;
  delivery.host_stride = places_.leaving_stride;
  delivery.host_bytes = places_.leaving_bytes;
  delivery.host_findings = findings_.as<DeviceFinding>() + places_.at(slot);
  delivery.host_scalars = scalars_.as<Scalar>() + places_.at(slot) * places_.columns;
  delivery.host_done = &done_.as<Word>()[slot].value;
}

kernel::bitshuffle_lz4::cuda::Chunks SlotResults::chunks(std::uint32_t slot) const noexcept {
  return {.chunks = chunks_.as<std::byte>() + places_.at(slot) * places_.chunk_room,
          .stride = places_.chunk_room,
          .bytes = chunk_bytes_.as<std::uint32_t>() + places_.at(slot)};
}

}  // namespace rashpa::unit::cuda
