// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "rashpa/unit/cuda/streams/work_streams.hpp"

namespace rashpa::unit::cuda {

/// The steps of each slot as a graph of its own, ready for launch.
class SlotGraphs {
 public:
  SlotGraphs(const StackWork& work, const WorkStreams& streams, std::uint32_t stacks);
  [[nodiscard]] cudaError_t launch(std::uint32_t slot, cudaStream_t stream) const noexcept {
    return graphs_[slot].launch(stream);
  }

 private:
  std::vector<Graph> graphs_;
};

}  // namespace rashpa::unit::cuda
