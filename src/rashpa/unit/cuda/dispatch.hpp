// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rashpa/unit/cuda/resident/resident.hpp"
#include "rashpa/unit/cuda/stack_work.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit::cuda {

/// Starts the steps of a stack on the device: one class for each Trigger. `submit` from one thread, `look` from
/// another; nothing allocates or waits for the device after construction.
class Dispatch {
 public:
  virtual ~Dispatch() = default;
  /// The stack in `slot` has its images and its Order, which carries `ticket`: let it run. Tickets count from 1; slots
  /// come in turn. Returns the first error.
  virtual cudaError_t submit(std::uint32_t slot, std::uint32_t ticket) noexcept = 0;
  /// An error that ended the work of `slot`; cudaErrorNotReady while nothing has ended, cudaSuccess when it is idle.
  [[nodiscard]] virtual cudaError_t look(std::uint32_t slot) const noexcept = 0;
  /// Lets all that waits go, without work; returns when the device has nothing more of this unit, or after `kStopNs`.
  /// Nothing may be submitted afterwards.
  virtual void stop() noexcept = 0;
  static constexpr std::int64_t kStopNs = 5'000'000'000;
};

/// A trigger and why it was chosen.
struct Chosen {
  Trigger trigger = Trigger::launch;
  std::string why;
};

/// `wanted` itself when it fits, for Trigger::automatic the fastest that does. Throws ConfigError when it does not fit.
Chosen choose(Trigger wanted, const Steps& steps, const Layout& layout);

/// Stacks in flight on the device: one comes in, one is computed, one goes out.
inline constexpr std::uint32_t kBenches = 3;

/// `work` outlives the dispatch. Made while the device is the current one. Throws ResourceError.
std::unique_ptr<Dispatch> make_launch(const StackWork& work, int device);
std::unique_ptr<Dispatch> make_graph(const StackWork& work, std::uint32_t stacks, int device);
std::unique_ptr<Dispatch> make_stream(const StackWork& work, std::uint32_t stacks);
std::unique_ptr<Dispatch> make_resident(const StackWork& work, const ResidentOptions& options = {});

}  // namespace rashpa::unit::cuda
