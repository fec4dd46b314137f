// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/resident/resident.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"
#include "rashpa/kernel/csr/csr_pass.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_pass.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8_pass.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/resident/resident_kernel.hpp"
#include "rashpa/unit/cuda/word/word_memory.hpp"

namespace rashpa::unit::cuda {

namespace {

bool is(const PlannedStep& planned, const char* name) {
  const kernel::Declaration& declaration = planned.step->declaration();
  return declaration.name == name && declaration.origin.empty();
}

}  // namespace

std::uint32_t resident_blocks() {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "which device is current");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "multiprocessors of a device");
  return std::max(2U, static_cast<std::uint32_t>(processors));
}

std::string resident_refusal(const Steps& steps, const Layout& layout) {
  const auto refuse = [](const std::string& why) {
    return "it runs jungfrau, a count and a list of its photons, peakfinder8 and rules, and " + why;
  };
  if (steps.steps.empty() || !is(steps.steps.front(), "jungfrau")) {
    return refuse("the pipeline does not begin with jungfrau");
  }
  if (steps.learned > 0) return refuse("its pedestals follow dark images");
  const auto* const by_cell = able<const kernel::CellReading>(*steps.steps.front().step);
  if (by_cell != nullptr && by_cell->reads_cells()) return refuse("its pedestals go by storage cells");
  if (steps.steps.front().step->reshape(steps.steps.front().in_shape) != nullptr) {
    return refuse("the image is assembled");
  }
  for (std::size_t i = 1; i < steps.steps.size(); ++i) {
    const PlannedStep& step = steps.steps[i];
    const bool listed = is(step, "csr") && step.marked;
    const bool looked_at = is(step, "peakfinder8") && step.in.type == PixelType::i16;
    if (!step.rides && !listed && !looked_at && !is(step, "veto")) {
      return refuse(step.step->declaration().name + " needs a pass of its own");
    }
  }
  if (steps.steps.size() > kResidentSteps + 1) {
    return fmt::format("{} steps are more than {}", steps.steps.size(), kResidentSteps + 1);
  }
  if (layout.images_in == ImagesIn::device) {
    return "it reads images in host memory, and these lie in the device's own";
  }
  if (layout.stack > kResidentImages) {
    return fmt::format("a stack of {} images is more than {}", layout.stack, kResidentImages);
  }
  return {};
}

namespace {

class Resident final : public Dispatch {
 public:
  /// `words`: the device begins stacks by last words as well; null: by the host's triggers alone.
  Resident(const StackWork& work, const ResidentOptions& options, std::unique_ptr<WordMemory> words)
      : work_(work),
        watchers_(options.watchers),
        words_(std::move(words)),
        state_(sizeof(ResidentState)),
        go_(work.layout().stacks * sizeof(std::uint64_t)),
        counts_(std::size_t{kCountSets} * work.layout().stack * sizeof(ResidentCounts)) {
    const auto& conversion = static_cast<const kernel::jungfrau::cuda::Pass&>(*work.passes().pass(0));
    const Steps& steps = work.steps();
    const SlotResults& results = work.results();
    ResidentTask task{};
    task.tables = conversion.tables();
    task.output = conversion.output();
    task.taps = conversion.taps();
    task.columns = work.places().columns;
    task.first_column = static_cast<std::uint32_t>(steps.steps.front().first_column);
    for (std::size_t i = 1; i < steps.steps.size(); ++i) task.steps[task.step_count++] = step_of(i, task);
    task.stack = work.layout().stack;
    task.stacks = work.layout().stacks;
    task.watchers = watchers_;
    task.even = options.even;
    task.one_block = options.one_block;
    task.tells_first = options.tells_first;
    task.control = &work.control();
    task.triggers = work.triggers();
    task.orders = reinterpret_cast<const std::byte*>(&work.order(0));
    task.order_stride = work.limits().stride();
    task.images = work.layout().images;
    task.image_stride = work.layout().image_stride;
    task.out = work.memory().made(0, 0);
    task.host_out = steps.output.pixels ? results.first_image() : nullptr;
    task.out_stride = work.places().leaving_stride;
    task.host_findings = results.first_finding();
    task.host_scalars = results.first_scalar();
    task.host_decided = results.first_decided();
    task.host_done = results.first_done();
    task.host_clocks = options.clocks;
    task.counts = counts_.as<ResidentCounts>();
    task.peaks = peaks_ ? peaks_->as<ResidentPeaks>() : nullptr;
    task.chunks = chunks_ ? chunks_->as<std::uint32_t>() : nullptr;
    task.go = go_.as<std::uint64_t>();
    task.state = state_.as<ResidentState>();
    if (words_) {
      task.words = words_->words();
      task.dtps = words_->dtps();
      task.starts = words_->starts();
      task.word_watchers = options.word_watchers;
      give_room();
    }
    check(cudaStreamSynchronize(nullptr), "clear the resident kernel's state");
    check(start_resident(task, peaks_pass_, stream_.get()), "start the resident kernel");
  }
  cudaError_t submit(std::uint32_t slot, std::uint32_t ticket) noexcept override {
    if (slot != next_slot_) return cudaErrorInvalidValue;
    next_slot_ = slot + 1 == work_.layout().stacks ? 0 : slot + 1;
    Order& order = work_.order(slot);
    std::uint32_t work = 0;
    for (std::uint32_t i = 0; i < order.images; ++i) work |= std::uint32_t{order.work()[i]} << i;
    SlotTrigger& trigger = work_.triggers()[slot];
    const std::uint64_t trigger_value = slot_trigger(ticket, work, order.changed != 0);
    for (std::uint32_t watcher = 0; watcher < watchers_; ++watcher) {
      // release: the device acquires, and sees the order
      std::atomic_ref(trigger.copies[watcher].value).store(trigger_value, std::memory_order_release);
    }
    return cudaSuccess;
  }
  [[nodiscard]] cudaError_t look(std::uint32_t /*slot*/) const noexcept override {
    return cudaStreamQuery(stream_.get());
  }
  void stop() noexcept override {
    // release: orders that the host gave are there before this word, at which the device's team ends
    std::atomic_ref(work_.control().abort.value).store(1, std::memory_order_release);
    const std::int64_t end = now_ns() + kStopNs;
    while (cudaStreamQuery(stream_.get()) == cudaErrorNotReady && now_ns() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  cudaError_t came_back(std::uint32_t /*slot*/) noexcept override {
    back_ = next_ticket(back_);
    if (words_) give_room();
    return cudaSuccess;
  }
  [[nodiscard]] Begun begun(std::uint32_t slot, std::uint32_t ticket) const noexcept override {
    return words_ ? words_->begun(slot, ticket) : Begun::by_host;
  }

 private:
  /// Lets the device put the results of as many stacks as the ring has into the places of those that have come back.
  void give_room() noexcept {
    std::uint32_t room = back_ + work_.layout().stacks;
    if (room < back_) ++room;  // tickets leave out 0
    // release: the host has taken the results in their place
    std::atomic_ref(work_.control().room.value).store(room, std::memory_order_release);
  }
  /// Step `number` of the pipeline as the kernel does it; the further needs of a list go into `task`.
  ResidentStep step_of(std::size_t number, ResidentTask& task) {
    const PlannedStep& planned = work_.steps().steps[number];
    ResidentStep step{};
    step.number = static_cast<std::uint8_t>(number);
    step.column = static_cast<std::uint32_t>(planned.first_column);
    if (planned.rides) {
      step.kind = ResidentStep::Kind::count;
      step.limits = static_cast<std::uint32_t>(work_.limits().of(number)->at);
    } else if (planned.makes_list) {
      step.kind = ResidentStep::Kind::list;
      const kernel::csr::cuda::Lists lists =
          static_cast<const kernel::csr::cuda::Pass&>(*work_.passes().pass(number)).lists();
      task.index = lists.index;
      task.value = reinterpret_cast<std::int16_t*>(lists.value);
      task.list_stride = lists.stride;
      task.list_capacity = static_cast<std::uint32_t>(lists.capacity);
      chunks_.emplace(std::size_t{2} * work_.layout().stack * resident_chunks(task.tables.pixels) *
                      sizeof(std::uint32_t));
    } else if (planned.table) {
      step.kind = ResidentStep::Kind::peaks;
      peaks_pass_ = static_cast<const kernel::peakfinder8::cuda::Pass*>(work_.passes().pass(number));
      peaks_.emplace(work_.layout().stack * sizeof(ResidentPeaks));
    } else {
      const StackLimits::Room& room = *work_.limits().of(number);
      step.kind = ResidentStep::Kind::rule;
      step.limits = static_cast<std::uint32_t>(room.at);
      step.room = static_cast<std::uint32_t>(room.bytes / sizeof(kernel::veto::Operation));
      step.operations = rules_.emplace_back(resident_blocks() * room.bytes).as<kernel::veto::Operation>();
    }
    return step;
  }

  const StackWork& work_;
  std::uint32_t watchers_;
  std::unique_ptr<WordMemory> words_;
  std::uint32_t back_ = 0;  // ticket of the stack that came back last
  DeviceMemory state_;
  DeviceMemory go_;
  DeviceMemory counts_;
  std::optional<DeviceMemory> chunks_;
  std::optional<DeviceMemory> peaks_;
  std::vector<DeviceMemory> rules_;
  const kernel::peakfinder8::cuda::Pass* peaks_pass_ = nullptr;
  Stream stream_;
  std::uint32_t next_slot_ = 0;
};

}  // namespace

std::unique_ptr<Dispatch> make_resident(const StackWork& work, const ResidentOptions& options) {
  return std::make_unique<Resident>(work, options, nullptr);
}

std::unique_ptr<Dispatch> make_resident_by_words(StackWork& work, const ResidentOptions& options) {
  // Limits lie behind orders, from the beginning: the first stack may begin before the host has given one.
  for (std::uint32_t slot = 0; slot < work.layout().stacks; ++slot) {
    work.limits().write_ahead(reinterpret_cast<std::byte*>(&work.order(slot)));
  }
  return std::make_unique<Resident>(work, options, std::make_unique<WordMemory>(work.layout()));
}

}  // namespace rashpa::unit::cuda
