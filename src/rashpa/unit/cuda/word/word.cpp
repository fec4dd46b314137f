// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/word/word.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/streams/graph.hpp"
#include "rashpa/unit/cuda/word/word_memory.hpp"

namespace rashpa::unit::cuda {

namespace {

/// Graphs of all slots are enqueued ahead, each with a kernel at its head that watches the last words of all DTPs. The
/// host's trigger is one store, and starts only stacks that have not begun by themselves. A slot is enqueued again
/// when its results are back.
class LastWords final : public Dispatch {
 public:
  LastWords(StackWork& work, std::uint32_t stacks, int device)
      : work_(work),
        device_(device),
        words_(work.layout()),
        over_(sizeof(std::uint32_t)),
        ahead_(stacks * work.limits().stride()),
        streams_(work) {
    work.watch({.ahead = ahead_.as<std::byte>(),
                .starts = words_.starts(),
                .words = words_.words(),
                .dtps = words_.dtps(),
                .over = over_.as<std::uint32_t>()});
    graphs_ = std::make_unique<SlotGraphs>(work, streams_, stacks);
    for (std::uint32_t slot = 0; slot < stacks; ++slot) check(enqueue(slot), "enqueue work ahead");
  }

  cudaError_t submit(std::uint32_t /*slot*/, std::uint32_t ticket) noexcept override {
    // release: the host has written its order; the device, which acquires the ticket, reads the order behind it
    std::atomic_ref(work_.control().trigger.value).store(ticket, std::memory_order_release);
    return cudaSuccess;
  }
  [[nodiscard]] cudaError_t look(std::uint32_t slot) const noexcept override { return streams_.look(slot); }
  void stop() noexcept override {
    // release: orders that the host gave are there before this word, at which all waiting on the device ends
    std::atomic_ref(work_.control().abort.value).store(1, std::memory_order_release);
    streams_.wait_idle(kStopNs);
  }
  void alive() noexcept override {
    // relaxed by the unit's thread alone; the device only compares it
    std::atomic_ref(work_.control().pulse.value).fetch_add(1, std::memory_order_relaxed);
  }
  cudaError_t came_back(std::uint32_t slot) noexcept override {
    const cudaError_t code = cudaSetDevice(device_);
    return code == cudaSuccess ? enqueue(slot) : code;
  }
  [[nodiscard]] Begun begun(std::uint32_t slot, std::uint32_t ticket) const noexcept override {
    return words_.begun(slot, ticket);
  }

 private:
  // Slots come in turn, each for the next stack.
  cudaError_t enqueue(std::uint32_t slot) noexcept {
    ticket_ = next_ticket(ticket_);
    work_.order_ahead(slot, number_++, ticket_);
    return graphs_->launch(slot, streams_.of(slot));
  }

  StackWork& work_;
  int device_;
  WordMemory words_;
  DeviceMemory over_;
  memory::cuda::PinnedMemory ahead_;
  std::uint32_t ticket_ = 0;  // enqueued last
  std::uint64_t number_ = 0;  // of the stack to be enqueued next
  WorkStreams streams_;
  std::unique_ptr<SlotGraphs> graphs_;
};

}  // namespace

std::string word_refusal(const Steps& steps, const Layout& layout) {
  if (layout.last_words.empty()) {
    return "the link has no last words that a device could watch; take link pcie, or verbs with transport rc, with "
           "verify off and credits, and deal no images";
  }
  if (layout.stacks > kMostStacksAhead) {
    return fmt::format("the ring has {} stacks, and {} or fewer are enqueued ahead; take larger stacks or fewer slots",
                       layout.stacks, kMostStacksAhead);
  }
  if (steps.keeps != kernel::Keeps::nothing || steps.learned > 0) {
    return "a kernel keeps something for later images, and images that only the host refuses would be in it";
  }
  for (const PlannedStep& planned : steps.steps) {
    const auto* const by_cell = able<const kernel::CellReading>(*planned.step);
    if (by_cell != nullptr && by_cell->reads_cells()) return "pedestals go by storage cells, which the host names";
    if (planned.step->declaration().name == "checksum") return "checksum compares sums that the host names";
    if (planned.step->enqueued_each_time()) return planned.step->declaration().name + " is called for each stack";
  }
  return {};
}

std::unique_ptr<Dispatch> make_word(StackWork& work, std::uint32_t stacks, int device) {
  return std::make_unique<LastWords>(work, stacks, device);
}

}  // namespace rashpa::unit::cuda
