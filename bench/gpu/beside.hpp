// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::gpu_bench {

constexpr std::uint32_t kInFlight = 3;  ///< stacks, each in a stream of its own: the unit's kBenches

/// A second stream that starts behind and ends before work of another.
class Beside {
 public:
  Beside() {
    memory::cuda::check(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming), "cudaEventCreate");
    memory::cuda::check(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    cudaEventDestroy(join_);
    cudaEventDestroy(fork_);
  }
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_.get(); }
  /// What is put into it from here on waits for what is in `other` now.
  void start_behind(cudaStream_t other) const {
    memory::cuda::check(cudaEventRecord(fork_, other), "cudaEventRecord");
    memory::cuda::check(cudaStreamWaitEvent(get(), fork_), "cudaStreamWaitEvent");
  }
  /// What is put into `other` from here on waits for what is in it now.
  void end_before(cudaStream_t other) const {
    memory::cuda::check(cudaEventRecord(join_, get()), "cudaEventRecord");
    memory::cuda::check(cudaStreamWaitEvent(other, join_), "cudaStreamWaitEvent");
  }

 private:
  memory::cuda::Stream stream_;
  cudaEvent_t fork_ = nullptr;
  cudaEvent_t join_ = nullptr;
};

/// So many stacks in flight as the unit has.
class InFlight {
 public:
  /// All images kInFlight times, in stacks, behind and before work of `stream`: put(first image, bench, stream) for
  /// each.
  template <typename Put>
  void enqueue(std::uint32_t images, std::uint32_t stack, cudaStream_t stream, Put put) const {
    for (const Beside& one : beside_) one.start_behind(stream);
    std::uint32_t bench = 0;
    for (std::uint32_t round = 0; round < kInFlight; ++round) {
      for (std::uint32_t first = 0; first < images; first += stack, bench = (bench + 1) % kInFlight) {
        put(first, bench, beside_[bench].get());
      }
    }
    for (const Beside& one : beside_) one.end_before(stream);
  }

 private:
  std::array<Beside, kInFlight> beside_;
};

}  // namespace rashpa::kernel::gpu_bench
