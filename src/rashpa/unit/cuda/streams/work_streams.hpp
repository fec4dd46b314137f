// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "rashpa/unit/cuda/stack_work.hpp"

namespace rashpa::unit::cuda {

/// One stream for each bench: the steps of a stack follow one another, and those of different benches overlap.
class WorkStreams {
 public:
  explicit WorkStreams(const StackWork& work) : work_(&work), streams_(work.benches()) {}
  [[nodiscard]] cudaStream_t of(std::uint32_t slot) const noexcept { return streams_[work_->bench_of(slot)].get(); }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept { return cudaStreamQuery(of(slot)); }
  /// Waits until all streams are idle or failed, for at most `limit_ns`.
  void wait_idle(std::int64_t limit_ns) const noexcept;

 private:
  const StackWork* work_;
  std::vector<Stream> streams_;
};

}  // namespace rashpa::unit::cuda
