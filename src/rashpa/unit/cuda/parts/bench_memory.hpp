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

/// The device's memory of stacks in flight, each at a bench of its own: the order, images that come in (where they are
/// copied), images between steps, marks, findings and scalars, and the encoder of chunks. Puts nothing into a stream.
/// Takes all memory of the current device in its constructor; not changed after it, so any thread may look.
class BenchMemory {
 public:
  /// `copied`: raw images have memory here. `order_bytes`: of an order and its limits. Throws ResourceError.
  BenchMemory(const Steps& steps, const Places& places, std::size_t order_bytes, std::uint32_t benches, bool copied);

  [[nodiscard]] std::uint32_t benches() const noexcept { return static_cast<std::uint32_t>(benches_.size()); }
  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return slot % benches(); }

  [[nodiscard]] Order* order(std::uint32_t bench) const noexcept { return benches_[bench].order.as<Order>(); }
  /// The byte of each image that asks for work; it lies behind the order.
  [[nodiscard]] std::uint8_t* work(std::uint32_t bench) const noexcept {
    return benches_[bench].order.as<std::uint8_t>() + sizeof(Order);
  }
  /// The limits behind the order, in a room of StackLimits; null: the step has none.
  [[nodiscard]] const std::byte* limits(std::uint32_t bench,
                                        const std::optional<StackLimits::Room>& room) const noexcept {
    return room ? benches_[bench].order.as<std::byte>() + room->at : nullptr;
  }
  /// Returns null where images are not copied.
  [[nodiscard]] std::byte* raw(std::uint32_t bench) const noexcept { return benches_[bench].raw.as<std::byte>(); }
  /// The images that step `step` makes; null: it makes none.
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
  /// A word that is 0 between launches.
  [[nodiscard]] std::uint32_t* blocks_done(std::uint32_t bench) const noexcept {
    return benches_[bench].blocks_done.as<std::uint32_t>();
  }
  /// Returns the encoder; null when pixels leave as they are, or none do.
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
