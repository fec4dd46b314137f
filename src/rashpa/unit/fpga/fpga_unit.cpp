// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/fpga/fpga_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::unit::fpga {

namespace {

constexpr std::uint32_t kLookUs = 200;
constexpr std::size_t kWordBytes = 2;  // of raw words
constexpr auto kNap = std::chrono::milliseconds(100);

Steps checked(const Choice& choice, const Pipeline& pipeline, const Layout& layout) {
  if (choice.trigger != Trigger::automatic) {
    throw ConfigError(fmt::format("unit: trigger {} is for unit cuda; leave it out", name_of(choice.trigger)));
  }
  Steps steps = steps_of(pipeline, layout);
  const auto refuse = [](const std::string& why) -> ConfigError {
    return ConfigError(
        "unit: unit fpga runs jungfrau to photons, a count and a list (csr) of its pixels on the way, and " + why +
        "; use another unit");
  };
  if (steps.steps.empty()) throw refuse("the pipeline has no kernel");
  for (std::size_t i = 1; i < steps.steps.size(); ++i) {
    const PlannedStep& step = steps.steps[i];
    const std::string& name = step.step->declaration().name;
    if (!step.rides && !(step.marked && step.makes_list)) throw refuse(name + " needs a pass of its own");
  }
  return steps;
}

}  // namespace

FpgaUnit::FpgaUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell)
    : steps_(checked(choice, pipeline, layout)),
      layout_(layout),
      decision_(steps_),
      stack_(layout.stack),
      pixels_(std::size_t{layout.width} * layout.height),
      card_(choice.device),
      pages_(pixels_, layout.stack, std::min(kBenches, layout.stacks),
             decision_.lists() ? card::unit_list_pages(pixels_, steps_.output.list_capacity) : 0),
      delivery_({.pixels = pixels_,
                 .images = std::size_t{layout.stack} * layout.stacks,
                 .photons = steps_.output.pixels,
                 .list_capacity = steps_.output.list_capacity,
                 .list_pages = pages_.list}),
      counts_(layout.stack),
      flow_(steps_, layout.stack, layout.stacks, "unit fpga: ", done_bell),
      flying_(layout.stacks) {
  card_.claim();
  set_up();
  how_ = fmt::format("card {}, {} stacks in flight; {}", choice.device, pages_.benches.size(), steps_.words());
  in_thread_ = std::jthread(
      [this, processor = choice.cores.first_processor](const std::stop_token& ending) { bring_in(ending, processor); });
  out_thread_ = std::jthread([this] { bring_out(); });
}

FpgaUnit::~FpgaUnit() { stop(); }

/// The calibration goes into card memory, and the card gets the addresses.
void FpgaUnit::set_up() {
  const auto tables = steps_.steps.front().step->on_fpga();
  if (!tables) {
    throw ConfigError(fmt::format("unit: unit fpga has no version of the kernel {}; use another unit",
                                  steps_.steps.front().step->declaration().name));
  }
  if (stack_ > card_.most_images() || pages_.benches.size() > card_.slots()) {
    throw ConfigError(fmt::format("unit: stacks of {} images are too long; use the {} of the card or fewer", stack_,
                                  card_.most_images()));
  }
  if (pages_.bytes() > card_.memory_bytes()) {
    throw ConfigError(fmt::format(
        "unit: {} stacks of {} images and their calibration take {} bytes of card memory, which has {}; take smaller "
        "stacks",
        pages_.benches.size(), stack_, pages_.bytes(), card_.memory_bytes()));
  }
  // Whatever another program has left.
  card_.abort();
  card_.to_card(pages_.calibration_low * card::kCardPage, std::as_bytes(std::span(tables->low)));
  card_.to_card(pages_.calibration_high * card::kCardPage, std::as_bytes(std::span(tables->high)));
  card_.set_up({.pixels = pixels_,
                .image_pages = pages_.image,
                .calibration_low = pages_.calibration_low,
                .calibration_high = pages_.calibration_high,
                .bright = static_cast<std::int16_t>(steps_.steps.front().count_at.value_or(0)),
                .lists = {.on = decision_.lists(),
                          .threshold = static_cast<std::int16_t>(steps_.steps.front().mark_at.value_or(0)),
                          .pages = pages_.list}});
}

void FpgaUnit::stop() noexcept {
  if (!in_thread_.joinable()) return;
  in_thread_.request_stop();
  flow_.stop();
  in_thread_.join();
  brought_in_.store(true, std::memory_order_release);
  posted_.ring();
  out_thread_.join();
}

void FpgaUnit::bring_in(const std::stop_token& ending, int processor) noexcept {
  memory::place_this_thread("fpga-in", processor);
  std::uint32_t begun = 0;
  for (;;) {
    const std::uint32_t woken = flow_.woken();
    Stack* const stack = flow_.begin();
    if (stack == nullptr) {
      if (ending.stop_requested()) return;
      flow_.rest(woken, kNap);
      continue;
    }
    for (;;) {
      const std::uint32_t freed = freed_.count();
      if (begun - handed_back_.load(std::memory_order_acquire) < pages_.benches.size()) break;
      freed_.wait(freed, kNap);
    }
    Flight flight{.stack = stack, .bench = begun % static_cast<std::uint32_t>(pages_.benches.size())};
    begun += 1;
    start(flight);
    flying_.push_must(flight);
    posted_.ring();
  }
}

/// Images that are to be processed lie one behind the other in card memory.
void FpgaUnit::start(Flight& flight) noexcept {
  const Stack& stack = *flight.stack;
  const std::span<const std::uint8_t> work = flow_.asked(stack);
  const auto images = static_cast<std::uint32_t>(std::count(work.begin(), work.end(), std::uint8_t{1}));
  if (images == 0) return;
  flight.lost = true;
  if (flow_.ended()) return;
  card::UnitStack place = pages_.benches[flight.bench];
  place.images = images;
  try {
    std::uint64_t page = place.raw;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] == 0) continue;
      card_.to_card(page * card::kCardPage, {stack.images[i].raw, pixels_ * kWordBytes});
      page += pages_.image;
    }
  } catch (const std::exception& error) {
    flow_.fail(error.what());
    return;
  }
  flight.ticket = card_.post(place);
  flight.posted = true;
  flight.lost = false;
}

void FpgaUnit::bring_out() noexcept {
  memory::place_this_thread("fpga-out", -1);
  for (;;) {
    const std::uint32_t seen = posted_.count();
    Flight flight;
    if (!flying_.try_pop(flight)) {
      if (brought_in_.load(std::memory_order_acquire)) return;
      posted_.wait(seen, kNap);
      continue;
    }
    if (changes_.begin()) {
      changes_.apply(flight.stack->number, [this](const kernel::CountTap& tap) {
        decision_.adopt(tap);
        return true;
      });
    }
    if (flight.posted) finish(flight);
    hand_back(flight);
  }
}

/// The card counts, and the host decides by the counts.
ReadyLimits FpgaUnit::ready(std::size_t step, const kernel::StepOf& with) {
  const kernel::LimitBytes limits = adjusted_limits(steps_, step, with, layout_);
  if (!decision_.counts(step)) throw_fixed(*with);
  return changes_.ready(kernel::limits_in<kernel::CountTap>(limits));
}

std::optional<Busy> FpgaUnit::busy() const {
  const auto doing = watch_.longest();
  if (!doing) return {};
  return steps_.busy(*doing, 0, steps_.steps.size());
}

/// Returns false when it will not be done.
bool FpgaUnit::wait_for(const Flight& flight) noexcept {
  const StackImage& image = flight.stack->images.front();
  const StepWatch::Turn turn(watch_, 0, 0, image.index, image.frame_number);
  namespace counters = card::unit_registers::counters;
  std::uint32_t beats = 0;
  std::int64_t moved_at = now_ns();
  for (;;) {
    if (static_cast<std::int32_t>(card_.done() - flight.ticket) >= 0) return true;
    if (flow_.failed()) return false;
    if (const auto error = card_.error()) {
      flow_.fail(text_of(*error));
      return false;
    }
    if (const std::uint32_t now = card_.read32(counters::kBeats); now != beats) {
      beats = now;
      moved_at = now_ns();
    }
    if (now_ns() - moved_at > kPatienceNs) {
      flow_.fail(fmt::format("the card has done nothing for {} s; check that it runs", kPatienceNs / 1'000'000'000));
      return false;
    }
    card_.wait(kLookUs);
  }
}

/// Counts, decisions by them, and the pixels of accepted images.
void FpgaUnit::finish(Flight& flight) noexcept {
  Stack& stack = *flight.stack;
  const std::span<const std::uint8_t> work = flow_.asked(stack);
  flight.lost = true;
  if (!wait_for(flight)) return;
  const card::UnitStack& place = pages_.benches[flight.bench];
  try {
    const auto images = static_cast<std::size_t>(std::count(work.begin(), work.end(), std::uint8_t{1}));
    card_.from_card(place.results * card::kCardPage, std::as_writable_bytes(std::span(counts_.data(), images)));
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] != 0) decision_.settle(stack.images[i], counts_[at++]);
    }
    stack.decided_ns = now_ns();
    at = 0;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] == 0) continue;
      if (StackImage& image = stack.images[i]; image.decision == Decision::accepted) {
        delivery_.fetch(card_,
                        {.photons = place.photons + at * pages_.image,
                         .list = place.lists + at * pages_.list,
                         .counts = counts_[at]},
                        std::size_t{stack.slot} * stack_ + i, image);
      }
      at += 1;
    }
  } catch (const std::exception& error) {
    flow_.fail(error.what());
    return;
  }
  flight.lost = false;
}

void FpgaUnit::hand_back(Flight& flight) noexcept {
  if (!flight.posted) flight.stack->decided_ns = now_ns();
  flow_.hand_back(*flight.stack, flight.lost);
  handed_back_.fetch_add(1, std::memory_order_release);
  freed_.ring();
}

std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell) {
  return std::make_unique<FpgaUnit>(choice, pipeline, layout, done_bell);
}

}  // namespace rashpa::unit::fpga
