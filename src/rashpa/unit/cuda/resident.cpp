// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/resident.hpp"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rashpa/core/clock.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/resident_kernel.hpp"

namespace rashpa::unit::cuda {

std::string resident_refusal(const Steps& steps, const Layout& layout) {
  const auto refuse = [](const std::string& why) { return "it runs jungfrau and a count of its pixels, and " + why; };
  if (steps.steps.empty() || steps.steps.front().step->declaration().name != "jungfrau") {
    return refuse("the pipeline does not begin with jungfrau");
  }
  if (steps.learned > 0) return refuse("its pedestals follow dark images");
  if (steps.steps.front().step->reshape(steps.steps.front().in_shape) != nullptr) {
    return refuse("the image is assembled");
  }
  for (std::size_t i = 1; i < steps.steps.size(); ++i) {
    const std::string& name = steps.steps[i].step->declaration().name;
    if (!steps.steps[i].rides) return refuse(name + " needs a pass of its own");
    if (i > 1) return refuse(name + " is one step more");
  }
  if (layout.stack > kResidentImages) {
    return fmt::format("a stack of {} images is more than {}", layout.stack, kResidentImages);
  }
  return {};
}

class Resident final : public Dispatch {
 public:
  Resident(const StackWork& work, std::uint32_t watchers)
      : work_(work),
        watchers_(watchers),
        state_(sizeof(ResidentState)),
        flags_(work.layout_.stacks * sizeof(std::uint32_t)),
        counts_(std::size_t{2} * work.layout_.stack * sizeof(kernel::jungfrau::Counts)) {
    const StackWork::Bench& bench = work.bench_.front();
    const auto& conversion = static_cast<const kernel::jungfrau::cuda::Pass&>(*work.passes_.front());
    const Steps& steps = work.steps_;
    ResidentTask task{};
    task.tables = conversion.tables();
    task.output = conversion.output();
    task.taps = conversion.taps();
    task.columns = work.columns_;
    task.first_column = static_cast<std::uint32_t>(steps.steps.front().first_column);
    if (steps.steps.size() > 1) {
      task.veto = true;
      task.count = *steps.steps[1].rides;
      task.count_column = static_cast<std::uint32_t>(steps.steps[1].first_column);
    }
    task.stack = work.layout_.stack;
    task.stacks = work.layout_.stacks;
    task.control = &work.control();
    task.triggers = work.triggers_.as<SlotTrigger>();
    task.images = work.layout_.images;
    task.image_stride = work.layout_.image_stride;
    task.out = bench.made.front().as<std::byte>();
    task.host_out = work.images_.as<std::byte>();
    task.out_stride = work.out_bytes_;
    task.host_findings = work.findings_.as<DeviceFinding>();
    task.host_scalars = work.scalars_.as<Scalar>();
    task.host_done = work.done_.as<Word>();
    task.counts = counts_.as<kernel::jungfrau::Counts>();
    task.watchers = watchers;
    task.work = flags_.as<std::uint32_t>();
    task.state = state_.as<ResidentState>();
    check(cudaStreamSynchronize(nullptr), "clear the resident kernel's state");
    check(start_resident(task, stream_.get()), "start the resident kernel");
  }

  cudaError_t submit(std::uint32_t slot, std::uint32_t ticket) noexcept override {
    if (slot != next_slot_) return cudaErrorInvalidValue;
    next_slot_ = slot + 1 == work_.layout_.stacks ? 0 : slot + 1;
    Order& order = work_.order(slot);
    std::uint32_t work = 0;
    for (std::uint32_t i = 0; i < order.images; ++i) work |= std::uint32_t{order.work()[i]} << i;
    SlotTrigger& trigger = work_.triggers_.as<SlotTrigger>()[slot];
    for (std::uint32_t watcher = 0; watcher < watchers_; ++watcher) {
      std::atomic_ref(trigger.copies[watcher].value).store(slot_trigger(ticket, work), std::memory_order_release);
    }
    return cudaSuccess;
  }
  [[nodiscard]] cudaError_t look(std::uint32_t /*slot*/) const noexcept override {
    return cudaStreamQuery(stream_.get());
  }
  void stop() noexcept override {
    std::atomic_ref(work_.control().abort.value).store(1, std::memory_order_release);
    const std::int64_t end = now_ns() + kStopNs;
    while (cudaStreamQuery(stream_.get()) == cudaErrorNotReady && now_ns() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  const StackWork& work_;
  std::uint32_t watchers_;
  DeviceMemory state_;
  DeviceMemory flags_;
  DeviceMemory counts_;
  Stream stream_;
  std::uint32_t next_slot_ = 0;
};

std::unique_ptr<Dispatch> make_resident(const StackWork& work, std::uint32_t watchers) {
  return std::make_unique<Resident>(work, watchers);
}

}  // namespace rashpa::unit::cuda
