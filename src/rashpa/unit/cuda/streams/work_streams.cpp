// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/streams/work_streams.hpp"

#include <chrono>
#include <thread>

#include "rashpa/core/time/clock.hpp"

namespace rashpa::unit::cuda {

void WorkStreams::wait_idle(std::int64_t limit_ns) const noexcept {
  const std::int64_t end = now_ns() + limit_ns;
  for (const Stream& stream : streams_) {
    while (cudaStreamQuery(stream.get()) == cudaErrorNotReady && now_ns() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace rashpa::unit::cuda
