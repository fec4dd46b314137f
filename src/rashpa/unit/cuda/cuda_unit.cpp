// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/cuda_unit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <span>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"
#include "rashpa/memory/cuda/free_memory.hpp"
#include "rashpa/memory/cuda/gpu_direct.hpp"
#include "rashpa/unit/split/split_unit.hpp"

namespace rashpa::unit::cuda {

namespace {

constexpr std::int64_t kSpinNs = 100'000;     // a small stack is back, or the next one there, before sleeping would pay
constexpr std::int64_t kLookNs = 20'000'000;  // the device is asked for errors so often while a ticket is awaited
constexpr auto kNap = std::chrono::microseconds(10);

// Devices of this machine, or why there are none. Kernels are loaded at once: loading one later would wait for a
// resident kernel for ever. Streams have queues of their own as far as there are any: one that waits for another device
// holds up all that shares its queue, which may be what the other device waits for.
int device_count(std::string& why) {
  [[maybe_unused]] static const int set =
      setenv("CUDA_MODULE_LOADING", "EAGER", 0) + setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return count;
  why = code == cudaSuccess ? "no CUDA device" : cudaGetErrorString(code);
  return 0;
}

std::string name_of_device(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "properties of a device");
  return static_cast<const char*>(properties.name);
}

}  // namespace

int device_number(const std::string& wanted) {
  std::string why;
  const int count = device_count(why);
  if (count == 0) throw ResourceError(fmt::format("unit: unit cuda cannot be used here: {}; use unit cpu", why));
  int device = -1;
  const auto [end, problem] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), device);
  if (problem != std::errc{} || end != wanted.data() + wanted.size() || device < 0 || device >= count) {
    throw ConfigError(fmt::format("unit: there is no CUDA device {}; this machine has 0 … {}", wanted, count - 1));
  }
  return device;
}

namespace {
bool can_chunk(const Steps& steps) noexcept {
  const Output& output = steps.output;
  const std::size_t element = pixel_bytes(output.pixel);
  return steps.chunks_wanted &&
         kernel::bitshuffle_lz4::cuda::takes_images(std::size_t{output.width} * output.height * element, element);
}

std::unique_ptr<Dispatch> make_dispatch(const Chosen& chosen, StackWork& work, std::uint32_t stacks, int device) {
  switch (chosen.trigger) {
    case Trigger::launch:
      return make_launch(work, device);
    case Trigger::stream:
      return make_stream(work, stacks);
    case Trigger::persistent:
      return make_resident(work);
    case Trigger::word:
      return chosen.resident ? make_resident_by_words(work) : make_word(work, stacks, device);
    case Trigger::graph:
    case Trigger::automatic:
      break;
  }
  return make_graph(work, stacks, device);
}

}  // namespace

CudaUnit::CudaUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell,
                   const std::optional<Seat>& seat)
    : device_(device_number(choice.device)),
      steps_(steps_of(pipeline, layout)),
      seat_(seat),
      flow_(steps_, layout.stack, layout.stacks, fmt::format("unit cuda, device {}: ", device_), done_bell),
      flights_(layout.stacks) {
  const DeviceScope scope(device_);
  const Chosen chosen = choose(choice.trigger, steps_, layout);
  how_ = fmt::format("trigger {} on {}: {}; {}", name_of(chosen.trigger), name_of_device(device_), chosen.why,
                     steps_.words());
  const std::size_t taken = DeviceMemory::taken();
  const bool resident = chosen.resident;
  orders_ahead_ = chosen.trigger == Trigger::word;
  if (!resident && can_chunk(steps_)) {
    steps_.output.chunked = true;
    steps_.output.pixels = false;
    how_ += "; images leave as chunks (bitshuffle_lz4)";
  }
  const std::uint32_t benches = resident ? 1 : std::min(kBenches, layout.stacks);
  work_ = std::make_unique<StackWork>(steps_, layout, benches, resident ? Input::in_place : Input::copied,
                                      choice.windows_on_device, seat);
  for (const std::string& words : work_->passes().words()) how_ += "; " + words;
  check(cudaStreamSynchronize(nullptr), "prepare the device");
  dispatch_ = make_dispatch(chosen, *work_, layout.stacks, device_);
  device_bytes_ = DeviceMemory::taken() - taken;
  thread_ = std::jthread(
      [this, processor = choice.cores.first_processor](const std::stop_token& ending) { run(ending, processor); });
}

CudaUnit::~CudaUnit() {
  stop();
  // Memory is given back to the device it came from.
  cudaSetDevice(device_);
  dispatch_.reset();
  work_.reset();
}

void CudaUnit::fail(cudaError_t code, const char* what) noexcept {
  fail(fmt::format("unit cuda: {}: {} ({}); check the device with nvidia-smi, and start the receiver again", what,
                   cudaGetErrorString(code), cudaGetErrorName(code)));
}

void CudaUnit::fail(const std::string& why) noexcept {
  if (seat_) seat_->joint->end();
  flow_.fail(why);
}

void CudaUnit::submit(Stack* stack) noexcept {
  const bool ended = flow_.ended() || over() != Over::no;
  flow_.settle(*stack, ended);
  ticket_ = next_ticket(ticket_);
  if (changes_.begin()) {
    changes_.apply(stack->number, [this](const StackLimits::Change& change) {
      work_->adopt(change);
      return true;
    });
  }
  work_->give_order(*stack, flow_.asked(*stack), ticket_);
  flights_[stack->slot] = {ticket_, !ended};
  if (!ended) {
    if (const cudaError_t code = dispatch_->submit(stack->slot, ticket_); code != cudaSuccess) fail(code, "submit");
  }
  flow_.pass_on(stack);
}

ReadyLimits CudaUnit::ready(std::size_t step, const kernel::StepOf& with) {
  if (orders_ahead_) {
    throw ConfigError(
        "unit: trigger word gives orders ahead, so that limits do not change during a run; use trigger graph, or set "
        "them in the run file");
  }
  StackLimits::Change change{.step = step, .limits = {}, .bounds = {}};
  if (seat_) {
    // Of a strip the step decides nothing; members decide together, by bounds.
    const auto strip = with->strip(seat_->whole, seat_->rows);
    if (!strip) throw_fixed(*with);
    change.limits = adjusted_limits(steps_, step, strip->step, work_->layout());
    change.bounds = kernel::limit_bytes(std::span(strip->bounds));
  } else {
    change.limits = adjusted_limits(steps_, step, with, work_->layout());
  }
  work_->limits().check(change);
  return changes_.ready(std::move(change));
}

Accumulated CudaUnit::conclude() noexcept {
  Accumulated all{};
  if (flow_.failed()) return all;
  cudaError_t code = cudaSetDevice(device_);
  if (code == cudaSuccess) code = work_->conclude(all);
  if (code != cudaSuccess) fail(code, "end windows");
  return all;
}

void CudaUnit::stop() noexcept {
  if (!thread_.joinable()) return;
  flow_.stop();
  if (seat_) seat_->joint->end();
  dispatch_->stop();
  thread_.request_stop();
  flow_.wake();
  thread_.join();
  if (!orders_ahead_) return;
  log::write(log::Level::info, {}, "unit cuda: {} stacks began by the last words of their source, {} by the host",
             by_words_, by_host_);
}

// True when the ticket has come back; false when it never will.
bool CudaUnit::wait_for(std::uint32_t slot, const std::stop_token& ending) noexcept {
  const std::uint32_t ticket = flights_[slot].ticket;
  const std::int64_t start = now_ns();
  std::int64_t looked = start;
  for (;;) {
    if (work_->results().done(slot) == ticket) return true;
    dispatch_->alive();
    const std::int64_t now = now_ns();
    if (now - start < kSpinNs) {
      pause_spinning();
      continue;
    }
    // After stop() the device is idle: a stack that has not come by then does not come.
    if (flow_.failed() || ending.stop_requested()) return work_->results().done(slot) == ticket;
    if (now - looked > kLookNs) {
      looked = now;
      const cudaError_t code = dispatch_->look(slot);
      if (code != cudaSuccess && code != cudaErrorNotReady) fail(code, "processing a stack");
    }
    std::this_thread::sleep_for(kNap);
  }
}

void CudaUnit::settle(StackImage& image, std::uint32_t slot, std::uint32_t place, Begun begun) noexcept {
  // Lines that the host has given up came after all, and the device has begun with them, not with the filled image.
  if (begun == Begun::by_word && image.completeness == Completeness::partial) {
    image.fail(ErrorReason::overwritten);
    return;
  }
  if (steps_.only_learned(image)) {
    image.decision = Decision::vetoed;
    image.reason = VetoReason::dark;
    return;
  }
  image.measured = true;
  const SlotResults& results = work_->results();
  std::copy_n(results.scalars(slot, place), steps_.output.results.columns.size(), image.scalars.begin());
  const DeviceFinding& finding = results.finding(slot, place);
  for (std::size_t step = 0; step < steps_.steps.size(); ++step) {
    if (!work_->passes().got_past(step, finding)) continue;
    const PlannedStep& planned = steps_.steps[step];
    if (planned.profile) image.profiles[*planned.profile] = work_->profile(step, slot, place);
    if (planned.table) image.tables[*planned.table] = work_->table(step, slot, place);
  }
  if (finding.verdict != 0) {
    image.decision = Decision::vetoed;
    image.reason = steps_.steps[finding.step].reasons[finding.verdict - 1U];
    return;
  }
  const bool overflow = finding.entries == kernel::cuda::kListOverflow;
  if (finding.failed != 0 || overflow || finding.lost != 0) {
    image.decision = Decision::errored;
    image.failed_in = finding.failed != 0 ? finding.failed : overflow ? work_->lister() : std::uint8_t{0};
    return;
  }
  image.decision = Decision::accepted;
  if (steps_.output.list_capacity != 0) {
    const kernel::cuda::HostList list = work_->list(slot, place);
    image.sparse = {list.index, list.value, finding.entries};
  }
  if (steps_.output.pixels) image.pixels = results.pixels(slot, place);
  if (steps_.output.chunked) image.chunk = results.chunk(slot, place);
}

void CudaUnit::hand_back(Stack& stack, bool came) noexcept {
  const Begun begun = came ? dispatch_->begun(stack.slot, flights_[stack.slot].ticket) : Begun::no;
  const bool finished = begun == Begun::by_word || begun == Begun::by_host;
  // Not from the order, which a dispatch that ends may have changed.
  const std::span<const std::uint8_t> asked = flow_.asked(stack);
  for (std::uint32_t i = 0; i < stack.count && finished; ++i) {
    if (asked[i] != 0) settle(stack.images[i], stack.slot, i, begun);
  }
  ++(begun == Begun::by_word ? by_words_ : by_host_);
  if (came) come_back(stack.slot, begun);
  if (over() == Over::silent)
    fail(
        "unit cuda: counts of another device have not come in 10 s; check it with nvidia-smi, and start the receiver "
        "again");
  work_->account(stack, finished);
  stack.decided_ns = now_ns();
  flow_.hand_back(stack, !finished);
}

void CudaUnit::come_back(std::uint32_t slot, Begun begun) noexcept {
  if (begun == Begun::alone) {
    return fail(
        "unit cuda: this thread gave the device no sign for 30 s, so that it no longer waits; start the receiver "
        "again, on a machine with less other work");
  }
  if (flow_.ended()) return;
  if (const cudaError_t code = dispatch_->came_back(slot); code != cudaSuccess) fail(code, "enqueue work ahead");
}

std::optional<Busy> CudaUnit::busy() const {
  const auto doing = watch_.longest();
  if (!doing) return {};
  return steps_.busy(*doing, 0, steps_.steps.size());
}

void CudaUnit::run(const std::stop_token& ending, int processor) noexcept {
  memory::place_this_thread("cuda-unit", processor);
  cudaSetDevice(device_);
  std::int64_t busy = 0;
  for (;;) {
    const std::uint32_t woken = flow_.woken();
    dispatch_->alive();
    if (Stack* const stack = flow_.begin(); stack != nullptr) {
      const StackImage& image = stack->images.front();
      std::optional<StepWatch::Turn> turn(std::in_place, watch_, 0, 0, image.index, image.frame_number);
      const bool finished = flights_[stack->slot].dispatched && wait_for(stack->slot, ending);
      turn.reset();
      hand_back(*stack, finished);
      busy = now_ns();
    } else if (ending.stop_requested()) {
      return;
    } else if (now_ns() - busy < kSpinNs) {
      pause_spinning();
    } else {
      flow_.rest(woken, std::chrono::milliseconds(100));
    }
  }
}

std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell) {
  return std::make_unique<CudaUnit>(choice, pipeline, layout, done_bell);
}

std::unique_ptr<Unit> make_split(const Choice& choice, const std::vector<std::string>& devices,
                                 const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell) {
  // A kernel that is launched for the first time may wait for one that waits for another device: all are in graphs.
  if (choice.trigger != Trigger::automatic && choice.trigger != Trigger::graph) {
    throw ConfigError(
        fmt::format("unit: devices that split images are triggered by graph, not by {}; set trigger graph",
                    name_of(choice.trigger)));
  }
  if (devices.size() > kMostMembers) {
    throw ConfigError(fmt::format("unit: {} devices split an image; name {} or fewer", devices.size(), kMostMembers));
  }
  // A fault of the whole is reported for the whole.
  const Steps whole = steps_of(pipeline, layout);
  check_fit(whole, layout);
  const auto members = static_cast<std::uint32_t>(devices.size());
  const std::vector<kernel::Rows> strips = strips_of(layout, members);
  std::vector<StripPipeline> parts;
  parts.reserve(members);
  for (const kernel::Rows& rows : strips) parts.push_back(cut(pipeline, layout, rows));
  const DeviceScope scope(device_number(devices.front()));
  std::vector<Meeting> meetings =
      meetings_of(steps_of(parts.front().pipeline, strip_of(layout, strips.front())), parts.front().bounds);
  const auto joint = std::make_shared<Joint>(layout, whole.output, std::move(meetings), members);
  const auto make = [&](std::uint32_t number, Doorbell& bell) {
    Choice one = choice;
    one.device = devices[number];
    if (one.trigger == Trigger::automatic) one.trigger = Trigger::graph;
    if (one.cores.first_processor >= 0) one.cores.first_processor += static_cast<int>(number);
    const std::size_t pixels = std::size_t{strips[number].first} * layout.width;
    const Seat seat{
        joint, number, pixels * pixel_bytes(whole.output.pixel), {layout.width, layout.height}, strips[number]};
    return std::make_unique<CudaUnit>(one, parts[number].pipeline, strip_of(layout, strips[number]), bell, seat);
  };
  return std::make_unique<SplitUnit>(pipeline, layout, strips, done_bell, make);
}

namespace {

/// Adds what an RNIC that writes into the device's memory needs to know.
void describe_remote_writes(int device, UnitDevice& found) {
  const memory::cuda::Window window = memory::cuda::bar1(device);
  found.bar1_bytes = window.bytes;
  found.bar1_free_bytes = window.free_bytes;
  try {
    const memory::RemoteWrites writes = memory::cuda::remote_writes(device);
    found.remote_writes = memory::words_of(writes);
    memory::flush_of(writes);
  } catch (const ConfigError& error) {
    found.remote_refusal = error.what();
  } catch (const ResourceError&) {
    found.remote_writes.clear();  // an old driver does not say
  }
}

}  // namespace

Available available() {
  std::string what;
  const int count = device_count(what);
  for (int device = 0; device < count; ++device) {
    what += fmt::format("{}{}: {}", device == 0 ? "" : ", ", device, name_of_device(device));
  }
  return {.name = "cuda", .usable = count > 0, .what = what};
}

std::vector<UnitDevice> devices() {
  std::string why;
  const int count = device_count(why);
  std::vector<UnitDevice> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    std::array<char, 32> bus{};
    if (cudaDeviceGetPCIBusId(bus.data(), bus.size(), device) != cudaSuccess) bus[0] = '\0';
    found.push_back({.unit = "cuda",
                     .number = static_cast<std::uint32_t>(device),
                     .name = static_cast<const char*>(properties.name),
                     .memory_bytes = properties.totalGlobalMem,
                     .free_bytes = memory::cuda::free_bytes(device),
                     .unified = properties.integrated != 0,
                     .bus = bus.data()});
    describe_remote_writes(device, found.back());
  }
  return found;
}

}  // namespace rashpa::unit::cuda
