// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/opencl_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::unit::opencl {

namespace {

constexpr auto kNap = std::chrono::microseconds(20);

const Choice& checked(const Choice& choice) {
  if (choice.trigger != Trigger::automatic) {
    throw ConfigError(fmt::format("unit: trigger {} is for unit cuda; leave it out", name_of(choice.trigger)));
  }
  return choice;
}

}  // namespace

OpenclUnit::OpenclUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell)
    : steps_(steps_of(pipeline, layout)),
      layout_(layout),
      device_(memory::opencl::device_of(checked(choice).device)),
      flow_(steps_, layout.stack, layout.stacks, fmt::format("unit opencl, {}: ", device_.info().name), done_bell),
      work_(device_, steps_, layout, std::min(kBenches, layout.stacks), choice.transfer),
      how_(fmt::format("{} ({}, driver {}), images {}, {} stacks in flight, kernels ready after {:.1f} s; {}",
                       device_.info().name, device_.info().platform, device_.info().driver,
                       work_.in_place() ? "in place" : "copied", std::min(kBenches, layout.stacks),
                       static_cast<double>(work_.ready_ns()) * 1e-9, steps_.words())),
      flights_(std::min(kBenches, layout.stacks)) {
  thread_ = std::jthread(
      [this, processor = choice.cores.first_processor](const std::stop_token& ending) { run(ending, processor); });
}

OpenclUnit::~OpenclUnit() { stop(); }

void OpenclUnit::fail(cl_int code, const char* what) noexcept {
  flow_.fail(fmt::format("unit opencl: {}: {}; check the device with clinfo, and start the receiver again", what,
                         memory::opencl::error_text(code)));
}

Accumulated OpenclUnit::conclude() noexcept {
  Accumulated all{};
  if (flow_.failed()) return all;
  if (const cl_int code = work_.conclude(all); code != CL_SUCCESS) fail(code, "bring the open windows");
  return all;
}

void OpenclUnit::stop() noexcept {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  flow_.stop();
  thread_.join();
}

/// Returns false when no bench is free, or no stack is there.
bool OpenclUnit::start_next() noexcept {
  Stack* const stack = flying_ == flights_.size() ? nullptr : flow_.begin();
  if (stack == nullptr) return false;
  static_cast<void>(changes_.begin());  // adopt() asks whether changes wait
  const auto bench = static_cast<std::uint32_t>((first_ + flying_) % flights_.size());
  Flight& flight = flights_[bench];
  flight.stack = stack;
  flying_ += 1;
  const std::span<const std::uint8_t> work = flow_.asked(*stack);
  flight.started = false;
  const bool nothing = std::all_of(work.begin(), work.end(), [](std::uint8_t one) { return one == 0; });
  if (nothing && !work_.ends_windows(stack->number)) {
    stack->decided_ns = now_ns();
    flight.stage = Flight::Stage::done;
    return true;
  }
  flight.stage = Flight::Stage::lost;
  if (flow_.ended()) return true;
  adopt(stack->number, 0, false);
  if (const cl_int code = work_.start(bench, *stack, work); code != CL_SUCCESS) {
    fail(code, "hand a stack over");
  } else {
    flight.stage = Flight::Stage::computing;
    flight.started = true;
  }
  if (flying_ == 1) watch_oldest();
  return true;
}

/// All stacks before it have begun more legs, or begin no more.
bool OpenclUnit::may_start_leg(std::uint32_t place) const noexcept {
  const auto bench = static_cast<std::uint32_t>((first_ + place) % flights_.size());
  for (std::uint32_t older = 0; older < place; ++older) {
    const auto before = static_cast<std::uint32_t>((first_ + older) % flights_.size());
    const Flight::Stage stage = flights_[before].stage;
    const bool under_way = stage == Flight::Stage::computing || stage == Flight::Stage::waiting;
    if (under_way && work_.legs_begun(before) <= work_.legs_begun(bench)) return false;
  }
  return true;
}

/// The host has done its part of this leg for all stacks before it. While limits change: each stack has its own.
bool OpenclUnit::may_settle(std::uint32_t place) const noexcept {
  const auto bench = static_cast<std::uint32_t>((first_ + place) % flights_.size());
  for (std::uint32_t older = 0; older < place; ++older) {
    const auto before = static_cast<std::uint32_t>((first_ + older) % flights_.size());
    const std::size_t settled = work_.legs_begun(before) - (flights_[before].stage == Flight::Stage::computing ? 1 : 0);
    const bool under_way =
        flights_[before].stage == Flight::Stage::computing || flights_[before].stage == Flight::Stage::waiting;
    if (under_way && settled < work_.legs_begun(bench)) return false;
  }
  return true;
}

ReadyLimits OpenclUnit::ready(std::size_t step, const kernel::StepOf& with) {
  Change change{.step = step, .limits = adjusted_limits(steps_, step, with, layout_)};
  if (!work_.limited(step)) throw_fixed(*with);
  return changes_.ready(std::move(change));
}

/// The limits that stack `number` is the first to have, as its leg begins or is `settled`.
void OpenclUnit::adopt(std::uint64_t number, std::size_t leg, bool settled) noexcept {
  if (!changes_.waiting()) return;
  changes_.apply(number, [&](Change& change) {
    if (!work_.takes_limits(change.step, leg, settled)) return false;
    work_.adopt(change.step, change.limits);
    return true;
  });
}

void OpenclUnit::start_leg(std::uint32_t bench, Flight& flight) noexcept {
  flight.stage = Flight::Stage::lost;
  if (flow_.failed()) return;
  adopt(flight.stack->number, work_.legs_begun(bench), false);
  if (const cl_int code = work_.go_on(bench, *flight.stack); code != CL_SUCCESS) {
    fail(code, "go on with a stack");
  } else {
    flight.stage = Flight::Stage::computing;
  }
  if (bench == first_) watch_oldest();
}

/// The `place`-th oldest. True when something has happened.
bool OpenclUnit::go_on(std::uint32_t place) noexcept {
  const auto bench = static_cast<std::uint32_t>((first_ + place) % flights_.size());
  Flight& flight = flights_[bench];
  if (flight.stage == Flight::Stage::waiting) {
    if (!may_start_leg(place)) return false;
    start_leg(bench, flight);
    return true;
  }
  const bool computing = flight.stage == Flight::Stage::computing;
  if (!computing && flight.stage != Flight::Stage::delivering) return false;
  if (computing && changes_.waiting() && !may_settle(place)) return false;
  const cl_int state = computing ? work_.decided(bench) : work_.delivered(bench);
  if (state > CL_COMPLETE) return false;
  if (state < CL_COMPLETE) {
    fail(state, "processing a stack");
    flight.stage = Flight::Stage::lost;
  } else if (computing) {
    adopt(flight.stack->number, work_.legs_begun(bench) - 1, true);
    if (work_.settle(bench, *flight.stack)) {
      flight.stage = Flight::Stage::waiting;
    } else {
      decide(bench, flight);
    }
  } else {
    flight.stage = Flight::Stage::done;
  }
  return true;
}

/// The decision on each image is known; accepted images are fetched.
void OpenclUnit::decide(std::uint32_t bench, Flight& flight) noexcept {
  Stack& stack = *flight.stack;
  const std::span<std::uint8_t> work = flow_.asked(stack);
  bool fetch = false;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (work[i] == 0) continue;
    settle(bench, stack.images[i], i);
    work[i] = stack.images[i].decision == Decision::accepted ? 1 : 0;
    fetch = fetch || work[i] != 0;
  }
  stack.decided_ns = now_ns();
  flight.stage = Flight::Stage::done;
  if (!fetch) return;
  if (const cl_int code = work_.deliver(bench, stack.slot, work); code != CL_SUCCESS) {
    fail(code, "fetch accepted images");
    flight.stage = Flight::Stage::lost;
    return;
  }
  flight.stage = Flight::Stage::delivering;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (work[i] == 0) continue;
    if (work_.lists_delivered()) stack.images[i].sparse = work_.list(bench, stack.slot, i);
    if (steps_.output.pixels) stack.images[i].pixels = work_.pixels(stack, i);
  }
}

void OpenclUnit::settle(std::uint32_t bench, StackImage& image, std::uint32_t place) noexcept {
  const ImageBooks& books = work_.books(bench, place);
  if (steps_.only_learned(image)) {
    image.decision = Decision::vetoed;
    image.reason = VetoReason::dark;
    return;
  }
  image.measured = true;
  std::copy_n(books.scalars, steps_.output.results.columns.size(), image.scalars.begin());
  if (books.verdict != 0) {
    image.decision = Decision::vetoed;
    image.reason = steps_.steps[books.step].reasons[books.verdict - 1U];
  } else if (books.failed != 0) {
    image.decision = Decision::errored;
    image.failed_in = books.failed;
  } else {
    image.decision = Decision::accepted;
  }
}

/// The oldest, when it is through.
bool OpenclUnit::hand_back() noexcept {
  if (flying_ == 0) return false;
  Flight& flight = flights_[first_];
  if (flight.stage != Flight::Stage::done && flight.stage != Flight::Stage::lost) return false;
  Stack& stack = *flight.stack;
  const bool lost = flight.stage == Flight::Stage::lost;
  if (lost) {
    stack.accumulated = {};
  } else {
    work_.account(first_, flight.started, stack);
  }
  first_ = static_cast<std::uint32_t>((first_ + 1) % flights_.size());
  flying_ -= 1;
  watch_oldest();
  flow_.hand_back(stack, lost);
  return true;
}

/// The device works on the oldest first. From when it is that, or a leg of it begins.
void OpenclUnit::watch_oldest() noexcept {
  turn_.reset();
  if (flying_ == 0 || !flights_[first_].started) return;
  const StackImage& image = flights_[first_].stack->images.front();
  turn_.emplace(watch_, 0, static_cast<std::uint32_t>(work_.legs_begun(first_)), image.index, image.frame_number);
}

std::optional<Busy> OpenclUnit::busy() const {
  const auto doing = watch_.longest();
  if (!doing) return {};
  return work_.busy(*doing, doing->step);
}

/// Stacks that the device does not finish are lost.
void OpenclUnit::give_up() noexcept {
  fail(CL_OUT_OF_RESOURCES, "the device has not finished what it began");
  for (std::uint32_t i = 0; i < flying_; ++i) {
    Flight& flight = flights_[(first_ + i) % flights_.size()];
    if (flight.stage != Flight::Stage::done) flight.stage = Flight::Stage::lost;
  }
}

void OpenclUnit::run(const std::stop_token& ending, int processor) noexcept {
  memory::place_this_thread("opencl-unit", processor);
  std::int64_t give_up_at = 0;
  for (;;) {
    const std::uint32_t woken = flow_.woken();
    bool moved = false;
    while (start_next()) moved = true;
    for (std::uint32_t i = 0; i < flying_; ++i) moved = go_on(i) || moved;
    while (hand_back()) moved = true;
    if (moved) continue;
    if (flying_ != 0) {
      if (ending.stop_requested()) {
        if (give_up_at == 0) give_up_at = now_ns() + kStopNs;
        if (now_ns() > give_up_at) give_up();
      }
      std::this_thread::sleep_for(kNap);
    } else if (ending.stop_requested()) {
      return;
    } else {
      flow_.rest(woken, std::chrono::milliseconds(100));
    }
  }
}

std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell) {
  return std::make_unique<OpenclUnit>(choice, pipeline, layout, done_bell);
}

Available available() {
  try {
    if (!memory::opencl::devices().empty()) {
      return {.name = "opencl", .usable = true, .what = memory::opencl::devices_text()};
    }
    return {.name = "opencl", .usable = false, .what = "no OpenCL device"};
  } catch (const ResourceError& error) {
    return {.name = "opencl", .usable = false, .what = error.what()};
  }
}

std::vector<UnitDevice> devices() {
  std::vector<UnitDevice> found;
  try {
    for (const memory::opencl::DeviceInfo& info : memory::opencl::devices()) {
      found.push_back({.unit = "opencl",
                       .number = static_cast<std::uint32_t>(found.size()),
                       .name = fmt::format("{} ({})", info.name, info.platform),
                       .memory_bytes = info.global_bytes,
                       .unified = info.unified});
    }
  } catch (const ResourceError&) {  // available() says why
    return {};
  }
  return found;
}

}  // namespace rashpa::unit::opencl
