// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cuda/wait_value.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/streams/graph.hpp"

namespace rashpa::unit::cuda {

namespace {

/// Graphs are enqueued ahead, each held by a wait until the trigger word has reached its ticket. Submitting is one
/// store; the work that takes the place of the one let go is enqueued behind it.
class StreamWait final : public Dispatch {
 public:
  StreamWait(const StackWork& work, std::uint32_t stacks)
      : work_(work),
        wait_value_(memory::cuda::wait_value()),
        stacks_(stacks),
        ahead_(std::min(stacks, work.benches())),
        streams_(work),
        graphs_(work, streams_, stacks) {
    for (std::uint32_t i = 0; i < ahead_; ++i) check(enqueue(), "enqueue work ahead");
  }

  cudaError_t submit(std::uint32_t slot, std::uint32_t ticket) noexcept override {
    if (slot != first_waiting()) return cudaErrorInvalidValue;
    // release: the host has written the order; the device's stream, which waits for this ticket, reads it behind that
    trigger().store(ticket, std::memory_order_release);
    return enqueue();
  }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept override { return streams_.look(slot); }
  void stop() noexcept override {
    // Work enqueued for stacks that never came runs once, with orders that ask for nothing. Where the stack before in
    // the same slot is still under way, its order is needed until it is done.
    const std::int64_t end = now_ns() + kStopNs;
    for (std::uint32_t i = 0, slot = first_waiting(); i < ahead_; ++i, slot = after(slot)) {
      while (work_.results().done(slot) != work_.order(slot).ticket && now_ns() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      work_.order(slot).images = 0;
      work_.order(slot).ended = {};
      std::fill_n(work_.order(slot).work(), work_.stack(), std::uint8_t{0});
    }
    // release: the host has emptied the orders above; the device's stream, which waits for this ticket, reads them so
    trigger().store(last_ticket_, std::memory_order_release);
    streams_.wait_idle(kStopNs);
  }

 private:
  [[nodiscard]] std::uint32_t after(std::uint32_t slot) const noexcept { return slot + 1 == stacks_ ? 0 : slot + 1; }
  [[nodiscard]] std::uint32_t first_waiting() const noexcept { return (next_slot_ + stacks_ - ahead_) % stacks_; }
  [[nodiscard]] std::atomic_ref<std::uint32_t> trigger() const noexcept {
    return std::atomic_ref(work_.control().trigger.value);
  }
  cudaError_t enqueue() noexcept {
    const std::uint32_t slot = next_slot_;
    const cudaStream_t stream = streams_.of(slot);
    const auto word = reinterpret_cast<CUdeviceptr>(&work_.control().trigger.value);
    last_ticket_ = next_ticket(last_ticket_);
    next_slot_ = after(slot);
    if (wait_value_(stream, word, last_ticket_, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
      return cudaErrorLaunchFailure;
    return graphs_.launch(slot, stream);
  }

  const StackWork& work_;
  memory::cuda::WaitValue wait_value_;
  std::uint32_t stacks_;
  std::uint32_t ahead_;
  std::uint32_t next_slot_ = 0;    // to be enqueued
  std::uint32_t last_ticket_ = 0;  // enqueued
  WorkStreams streams_;
  SlotGraphs graphs_;
};

}  // namespace

std::unique_ptr<Dispatch> make_stream(const StackWork& work, std::uint32_t stacks) {
  return std::make_unique<StreamWait>(work, stacks);
}

}  // namespace rashpa::unit::cuda
