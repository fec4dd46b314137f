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

/// Starts the steps of a stack on the device, with one class for each Trigger. One thread calls submit(), another
/// look(). Nothing allocates or waits for the device after construction.
class Dispatch {
 public:
  virtual ~Dispatch() = default;
  /// Starts the stack in `slot`, which has its images and its Order with `ticket`. Tickets count from 1; slots come in
  /// turn. Returns the first error.
  virtual cudaError_t submit(std::uint32_t slot, std::uint32_t ticket) noexcept = 0;
  /// Returns an error that ended the work of `slot`; cudaErrorNotReady while it runs, cudaSuccess when it is idle.
  [[nodiscard]] virtual cudaError_t look(std::uint32_t slot) const noexcept = 0;
  /// Gives the device a sign that the host's thread is at work. The thread that takes results calls it all the time.
  virtual void alive() noexcept {}
  /// Tells that the results of `slot` are back, before the stack is handed on. The thread that takes results calls it.
  /// Returns the first error.
  virtual cudaError_t came_back(std::uint32_t slot) noexcept {
    static_cast<void>(slot);
    return cudaSuccess;
  }
  /// Returns how the stack of `ticket` has begun, whose results are back.
  [[nodiscard]] virtual Begun begun(std::uint32_t slot, std::uint32_t ticket) const noexcept {
    static_cast<void>(slot), static_cast<void>(ticket);
    return Begun::by_host;
  }
  /// Ends waiting stacks without work. Returns when the device has no more work of this unit, or after `kStopNs`.
  /// Nothing may be submitted afterwards.
  virtual void stop() noexcept = 0;
  static constexpr std::int64_t kStopNs = 5'000'000'000;
};

/// A trigger, with the reason for its choice.
struct Chosen {
  Trigger trigger = Trigger::launch;
  std::string why;
  bool resident = false;  ///< by the resident kernel
};

/// Returns `wanted` if it fits, and for Trigger::automatic the fastest trigger that fits. Throws ConfigError when it
/// does not fit.
Chosen choose(Trigger wanted, const Steps& steps, const Layout& layout);

/// The stacks in flight on the device: one comes in, one is computed, one goes out.
inline constexpr std::uint32_t kBenches = 3;

/// Makes the dispatch on the current device; `work` outlives it. Throws ResourceError.
std::unique_ptr<Dispatch> make_launch(const StackWork& work, int device);
std::unique_ptr<Dispatch> make_graph(const StackWork& work, std::uint32_t stacks, int device);
std::unique_ptr<Dispatch> make_stream(const StackWork& work, std::uint32_t stacks);
std::unique_ptr<Dispatch> make_word(StackWork& work, std::uint32_t stacks, int device);
std::unique_ptr<Dispatch> make_resident(const StackWork& work, const ResidentOptions& options = {});
std::unique_ptr<Dispatch> make_resident_by_words(StackWork& work,
                                                 const ResidentOptions& options = {.watchers = 2, .word_watchers = 6});

}  // namespace rashpa::unit::cuda
