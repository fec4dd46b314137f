// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/parts/places.hpp"
#include "rashpa/unit/cuda/parts/stack_limits.hpp"

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;
using memory::cuda::DeviceMemory;

/// The device memory of stacks in flight, one bench for each stack. A bench has the order, input images (where they are
/// copied), images between steps, marks, findings and scalars, and the encoder of chunks. It enqueues nothing. The
/// constructor takes all memory of the current device; it is constant afterwards, so any thread may read it.
class BenchMemory {
 public:
  /// Takes the memory. `copied`: raw images have memory here. `order_bytes` is the size of an order with its limits.
  /// Throws ResourceError.
  BenchMemory(const Steps& steps, const Places& places, std::size_t order_bytes, std::uint32_t benches, bool copied);

  [[nodiscard]] std::uint32_t benches() const noexcept { return static_cast<std::uint32_t>(benches_.size()); }
  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return slot % benches(); }

  [[nodiscard]] Order* order(std::uint32_t bench) const noexcept { return benches_[bench].order.as<Order>(); }
  /// Returns the bytes that request work, one for each image; they follow the order.
  [[nodiscard]] std::uint8_t* work(std::uint32_t bench) const noexcept {
    return benches_[bench].order.as<std::uint8_t>() + sizeof(Order);
  }
  /// Returns the limits behind the order, in a room of StackLimits; null: the step has none.
  [[nodiscard]] const std::byte* limits(std::uint32_t bench,
                                        const std::optional<StackLimits::Room>& room) const noexcept {
    return room ? benches_[bench].order.as<std::byte>() + room->at : nullptr;
  }
  /// Returns the copied raw images; null where images are not copied.
  [[nodiscard]] std::byte* raw(std::uint32_t bench) const noexcept { return benches_[bench].raw.as<std::byte>(); }
  /// Returns the images that step `step` makes; null: it makes none.
  [[nodiscard]] std::byte* made(std::uint32_t bench, std::size_t step) const noexcept {
    return benches_[bench].made[step].as<std::byte>();
  }
  [[nodiscard]] std::uint64_t* marks(std::uint32_t bench) const noexcept {
    return benches_[bench].marks.as<std::uint64_t>();
  }
  [[nodiscard]] DeviceFinding* findings(std::uint32_t bench) const noexcept {
    return benches_[bench].findings.as<DeviceFinding>();
  }
  [[nodiscard]] Scalar* scalars(std::uint32_t bench) const noexcept { return benches_[bench].scalars.as<Scalar>(); }
  /// Returns a word that is 0 between launches.
  [[nodiscard]] std::uint32_t* blocks_done(std::uint32_t bench) const noexcept {
    return benches_[bench].blocks_done.as<std::uint32_t>();
  }
  /// Returns the encoder; null when pixels leave unchanged, or not at all.
  [[nodiscard]] kernel::bitshuffle_lz4::cuda::Encoder* encoder(std::uint32_t bench) const noexcept {
    return benches_[bench].encoder.get();
  }

 private:
  struct Bench {
    Bench(const Steps& steps, const Places& places, std::size_t order_bytes, bool copied);
    DeviceMemory order, raw, marks, findings, scalars, blocks_done;
    std::vector<DeviceMemory> made;  // by step
    std::unique_ptr<kernel::bitshuffle_lz4::cuda::Encoder> encoder;
  };
  std::vector<Bench> benches_;
};

}  // namespace rashpa::unit::cuda
