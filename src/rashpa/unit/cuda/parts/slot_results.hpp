// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/joint/joint.hpp"
#include "rashpa/unit/cuda/parts/places.hpp"
#include "rashpa/unit/cuda/streams/stage_kernels.hpp"

namespace rashpa::unit::cuda {

using memory::cuda::PinnedMemory;

/// The results of each slot of the ring in pinned host memory, which the device writes: tickets, findings, scalars,
/// and accepted images, as they are or as chunks. Puts nothing into a stream. Takes all memory in its constructor. The
/// device writes those of a slot, then its ticket; one thread reads them behind it.
class SlotResults {
 public:
  /// `seat`: images leave into the memory of its Joint; null: into memory of their own. `places` outlives it. Throws
  /// ResourceError.
  SlotResults(const Output& output, const Places& places, const Layout& layout, const Seat* seat);

  /// Written by the device when everything of the stack is in host memory.
  [[nodiscard]] std::uint32_t done(std::uint32_t slot) const noexcept { return word(done_, slot); }
  /// Trigger persistent: written when findings and scalars are there; pixels and lists may follow.
  [[nodiscard]] std::uint32_t decided(std::uint32_t slot) const noexcept { return word(decided_, slot); }
  [[nodiscard]] const DeviceFinding& finding(std::uint32_t slot, std::uint32_t image) const noexcept {
    return findings_.as<DeviceFinding>()[places_.at(slot, image)];
  }
  [[nodiscard]] const Scalar* scalars(std::uint32_t slot, std::uint32_t image) const noexcept {
    return scalars_.as<Scalar>() + places_.at(slot, image) * places_.columns;
  }
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept;
  /// The chunk of an accepted image, where the output is chunked.
  [[nodiscard]] std::span<const std::byte> chunk(std::uint32_t slot, std::uint32_t image) const noexcept;

  /// Tells where the results of `slot` go: the half of a delivery that is the host's.
  void address(std::uint32_t slot, Deliver& delivery) const noexcept;
  [[nodiscard]] kernel::bitshuffle_lz4::cuda::Chunks chunks(std::uint32_t slot) const noexcept;

  /// The first image of slot 0, for a kernel that finds the others by itself. Images have memory of their own here;
  /// null: none leave.
  [[nodiscard]] std::byte* first_image() const noexcept { return images_.as<std::byte>(); }
  [[nodiscard]] DeviceFinding* first_finding() const noexcept { return findings_.as<DeviceFinding>(); }
  [[nodiscard]] Scalar* first_scalar() const noexcept { return scalars_.as<Scalar>(); }
  [[nodiscard]] Word* first_decided() const noexcept { return decided_.as<Word>(); }
  [[nodiscard]] Word* first_done() const noexcept { return done_.as<Word>(); }

 private:
  static std::uint32_t word(const PinnedMemory& words, std::uint32_t slot) noexcept {  // acquire: the device's results
    return std::atomic_ref(words.as<Word>()[slot].value).load(std::memory_order_acquire);
  }

  const Places& places_;
  const std::byte* const raw_;  // images of the ring
  const std::size_t ring_stride_;
  PinnedMemory decided_, done_, findings_, scalars_, images_, chunks_, chunk_bytes_;
  std::byte* const host_images_;  // where images of place 0 leave to
};

}  // namespace rashpa::unit::cuda
