// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/image_launches.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>

namespace rashpa::link::pcie {

namespace {

// The words of each way share no cache line with others.
constexpr std::size_t kWayBytes = 128;
static_assert(ImageBatch::kArrived * sizeof(std::uint32_t) <= kWayBytes);

}  // namespace

bool Written::may_overlap(const Written& other) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  const auto other_begin = reinterpret_cast<std::uintptr_t>(other.to);
  const auto end = [](std::uintptr_t from, const Written& of) { return from + (of.rows - 1) * of.pitch + of.width; };
  if (end(begin, *this) <= other_begin || end(other_begin, other) <= begin) return false;
  if (pitch != other.pitch || pitch == 0) return true;
  // Side by side in the same lines?
  const std::uint64_t distance =
      other_begin >= begin ? (other_begin - begin) % pitch : (pitch - (begin - other_begin) % pitch) % pitch;
  return distance < width || pitch - distance < other.width;
}

Signal::Signal() { memory::cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
Signal::~Signal() { cudaEventDestroy(event_); }

ImageLaunches::ImageLaunches() : words_((1 + kWays) * kWayBytes), done_(sizeof(std::uint64_t)) {
  batch_.sequence = words_.as<std::uint64_t>();
  batch_.done = done_.as<std::uint64_t>();
}

cudaError_t ImageLaunches::add(const CopiedLines& lines) noexcept {
  if (lines.width == 0 || lines.rows == 0) return cudaSuccess;
  if (gathered_ >= kTogether || batch_.part_count == ImageBatch::kMostParts) {
    if (const cudaError_t code = launch_gathered(); code != cudaSuccess) return code;
  }
  const cudaError_t code = write({.to = lines.to, .pitch = lines.to_pitch, .width = lines.width, .rows = lines.rows});
  if (code != cudaSuccess) return code;
  batch_.add(lines);
  gathered_ += std::uint64_t{lines.width} * lines.rows;
  return cudaSuccess;
}

cudaError_t ImageLaunches::begin_copy(const Written& written, cudaStream_t& stream) noexcept {
  cudaError_t code = batch_.empty() ? cudaSuccess : launch_gathered();
  if (code == cudaSuccess) code = write(written);
  stream = ways_[way_].stream.get();
  return code;
}

cudaError_t ImageLaunches::add(const EndOfImage& end) noexcept {
  batch_.add(end);
  if (gathered_ >= kTogether || batch_.end_count == ImageBatch::kMostEnds) return launch_gathered();
  return go_on(Company::may_come);
}

cudaError_t ImageLaunches::go_on(Company company) noexcept { return idle(company) ? cudaSuccess : launch_gathered(); }

cudaError_t ImageLaunches::query() const noexcept {
  for (const Way& way : ways_) {
    if (const cudaError_t code = cudaStreamQuery(way.stream.get()); code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

void ImageLaunches::wait() const noexcept {
  for (const Way& way : ways_) cudaStreamSynchronize(way.stream.get());
}

std::uint64_t ImageLaunches::done() const noexcept {
  // acquire: the host's thread uses lines again that are done
  return std::atomic_ref<std::uint64_t>(*done_.as<std::uint64_t>()).load(std::memory_order_acquire);
}

// Behind what it may overlap. There is always room: of the engine's copies, no more than half of that are on their way.
cudaError_t ImageLaunches::write(const Written& written) noexcept {
  const std::uint64_t latest = done();
  while (writes_begin_ != writes_end_ && writes_[writes_begin_ % kWrites].launch <= latest) ++writes_begin_;
  bool behind_others = false;
  bool behind_gathered = false;
  for (std::uint64_t i = writes_begin_; i != writes_end_; ++i) {
    const Write& other = writes_[i % kWrites];
    if (!other.written.may_overlap(written)) continue;
    behind_gathered = behind_gathered || other.launch > launched_;
    behind_others = behind_others || (other.way != way_ && other.launch > ways_[way_].behind);
  }
  const std::size_t way = way_;
  cudaError_t code = cudaSuccess;
  if (behind_gathered && !batch_.empty()) code = launch_gathered();
  way_ = way;
  for (std::size_t other = 0; other < kWays && behind_others && code == cudaSuccess; ++other) {
    if (other == way_) continue;
    code = cudaEventRecord(ways_[other].signal.get(), ways_[other].stream.get());
    if (code == cudaSuccess) {
      code = cudaStreamWaitEvent(ways_[way_].stream.get(), ways_[other].signal.get(), 0);
    }
  }
  if (behind_others) ways_[way_].behind = launched_;
  writes_[writes_end_++ % kWrites] = {.written = written, .launch = launched_ + 1, .way = way_};
  return code;
}

cudaError_t ImageLaunches::launch_gathered() noexcept {
  batch_.arrived = words_.as<std::uint32_t>() + (1 + way_) * (kWayBytes / sizeof(std::uint32_t));
  batch_.number = ++launched_;
  const cudaError_t code = launch(batch_, ways_[way_].stream.get());
  batch_.part_count = batch_.end_count = batch_.block_count = 0;
  batch_.blocks.fill(0);
  gathered_ = 0;
  way_ = (way_ + 1) % kWays;
  return code;
}

}  // namespace rashpa::link::pcie
