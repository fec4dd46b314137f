// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/copy_streams.hpp"

#include <cuda_runtime_api.h>

namespace rashpa::link::pcie {

Signal::Signal() { memory::cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
Signal::~Signal() { cudaEventDestroy(event_); }

CopyStreams::CopyStreams(Side side) {
  if (side == Side::side_by_side) ends_.emplace();
}

cudaError_t CopyStreams::begin_end() noexcept {
  if (!ends_) return cudaSuccess;
  Way& way = ways_[way_];
  const cudaError_t code = cudaEventRecord(way.copied.get(), way.stream.get());
  return code == cudaSuccess ? cudaStreamWaitEvent(ends_->get(), way.copied.get(), 0) : code;
}

cudaError_t CopyStreams::image_ended() noexcept {
  if (!ends_) return cudaSuccess;
  const cudaError_t code = cudaEventRecord(ways_[way_].ended.get(), ends_->get());
  if (code != cudaSuccess) return code;
  way_ = 1 - way_;
  // The image before the one that has just ended went this way. When its end is through, so are all before it.
  return cudaStreamWaitEvent(ways_[way_].stream.get(), ways_[way_].ended.get(), 0);
}

cudaError_t CopyStreams::query() const noexcept {
  cudaError_t code = ends_ ? cudaStreamQuery(ends_->get()) : cudaSuccess;
  for (const Way& way : ways_) {
    if (code == cudaSuccess) code = cudaStreamQuery(way.stream.get());
  }
  return code;
}

void CopyStreams::wait() const noexcept {
  for (const Way& way : ways_) cudaStreamSynchronize(way.stream.get());
  if (ends_) cudaStreamSynchronize(ends_->get());
}

}  // namespace rashpa::link::pcie
