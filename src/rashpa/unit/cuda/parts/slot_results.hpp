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

/// The results of each slot of the ring in pinned host memory: tickets, findings, scalars, and accepted images,
/// unchanged or as chunks. It enqueues nothing. The constructor takes all memory. The device writes a slot's results
/// and then its ticket; one thread reads the ticket first.
class SlotResults {
 public:
  /// Takes the memory. `seat`: images leave into the memory of its Joint; null: into memory of their own. `places`
  /// outlives the object. Throws ResourceError.
  SlotResults(const Output& output, const Places& places, const Layout& layout, const Seat* seat);

  /// Returns the ticket that the device writes when all results of the stack are in host memory.
  [[nodiscard]] std::uint32_t done(std::uint32_t slot) const noexcept { return word(done_, slot); }
  /// Returns the ticket that the device writes, with trigger persistent, when findings and scalars are there; pixels
  /// and lists may follow.
  [[nodiscard]] std::uint32_t decided(std::uint32_t slot) const noexcept { return word(decided_, slot); }
  [[nodiscard]] const DeviceFinding& finding(std::uint32_t slot, std::uint32_t image) const noexcept {
    return findings_.as<DeviceFinding>()[places_.at(slot, image)];
  }
  [[nodiscard]] const Scalar* scalars(std::uint32_t slot, std::uint32_t image) const noexcept {
    return scalars_.as<Scalar>() + places_.at(slot, image) * places_.columns;
  }
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Returns the chunk of an accepted image, where the output is chunked.
  [[nodiscard]] std::span<const std::byte> chunk(std::uint32_t slot, std::uint32_t image) const noexcept;

  /// Writes the destinations of the results of `slot`, which are the host's part of a delivery.
  void address(std::uint32_t slot, Deliver& delivery) const noexcept;
  [[nodiscard]] kernel::bitshuffle_lz4::cuda::Chunks chunks(std::uint32_t slot) const noexcept;

  /// Returns the first image of slot 0, for a kernel that computes the places of the others. Images have memory of
  /// their own here; null: none leave.
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
