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

constexpr std::size_t kAligned = 4096;
constexpr std::uint32_t kLookUs = 200;
constexpr std::size_t kWordBytes = 2;  // of raw words, and of photons
constexpr std::size_t kEntriesOfLine = 32;
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

/// The step that counts on the way, or the one that makes a list of its marks: one of each at most, since the
/// conversion has one of each to offer.
const PlannedStep* found(const Steps& steps, bool list) {
  const auto step = std::find_if(steps.steps.begin(), steps.steps.end(), [list](const PlannedStep& one) {
    return list ? one.makes_list : one.rides.has_value();
  });
  return step == steps.steps.end() ? nullptr : &*step;
}

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

FpgaUnit::FpgaUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell)
    : steps_(checked(choice, pipeline, layout)),
      stack_(layout.stack),
      image_bytes_(std::size_t{layout.width} * layout.height * kWordBytes),
      count_(found(steps_, false)),
      list_(found(steps_, true)),
      card_(choice.device),
      benches_(std::min(kBenches, layout.stacks)),
      photons_stride_(rounded_up(image_bytes_, kAligned)),
      counts_(layout.stack),
      flow_(steps_, layout.stack, layout.stacks, "unit fpga: ", done_bell),
      flying_(layout.stacks) {
  card_.claim();
  lay_out();
  photons_ = memory::Buffer(photons_stride_ * layout.stack * layout.stacks, memory::MemoryKind::pageable);
  if (list_ != nullptr) {
    const std::size_t images = std::size_t{layout.stack} * layout.stacks;
    list_stride_ = rounded_up(steps_.output.list_capacity, kEntriesOfLine);
    beats_ = memory::Buffer(list_pages_ * card::kCardPage, memory::MemoryKind::pageable);
    indexes_ = memory::Buffer(images * list_stride_ * sizeof(std::uint32_t), memory::MemoryKind::pageable);
    values_ = memory::Buffer(images * list_stride_ * sizeof(std::int16_t), memory::MemoryKind::pageable);
  }
  how_ = fmt::format("card {}, {} stacks in flight; {}", choice.device, benches_.size(), steps_.words());
  in_thread_ = std::jthread(
      [this, processor = choice.cores.first_processor](const std::stop_token& ending) { bring_in(ending, processor); });
  out_thread_ = std::jthread([this] { bring_out(); });
}

FpgaUnit::~FpgaUnit() { stop(); }

/// The layout of card memory, and the calibration there.
void FpgaUnit::lay_out() {
  const auto tables = steps_.steps.front().step->on_fpga();
  if (!tables) {
    throw ConfigError(fmt::format("unit: unit fpga has no version of the kernel {}; use another unit",
                                  steps_.steps.front().step->declaration().name));
  }
  if (stack_ > card_.most_images() || benches_.size() > card_.slots()) {
    throw ConfigError(fmt::format("unit: stacks of {} images; the card takes {}", stack_, card_.most_images()));
  }
  const std::size_t pixels = image_bytes_ / kWordBytes;
  image_pages_ = card::unit_blocks(pixels);
  list_pages_ = list_ == nullptr ? 0 : card::unit_list_pages(pixels, steps_.output.list_capacity);
  std::uint64_t next = 0;
  const auto take = [&next](std::uint64_t pages) {
    const std::uint64_t page = next;
    next += pages;
    return static_cast<std::uint32_t>(page);
  };
  const std::uint64_t calibration = std::uint64_t{card::kUnitCalibrationPages} * image_pages_;
  const std::uint32_t low = take(calibration);
  const std::uint32_t high = take(calibration);
  for (card::UnitStack& bench : benches_) {
    bench.raw = take(std::uint64_t{stack_} * image_pages_);
    bench.photons = take(std::uint64_t{stack_} * image_pages_);
    bench.results = take(1);
    bench.lists = take(std::uint64_t{stack_} * list_pages_);
  }
  device_bytes_ = next * card::kCardPage;
  if (device_bytes_ > card_.memory_bytes()) {
    throw ConfigError(fmt::format(
        "unit: {} stacks of {} images and their calibration take {} bytes of card memory, which has {}; take smaller "
        "stacks",
        benches_.size(), stack_, device_bytes_, card_.memory_bytes()));
  }
  // Whatever another program has left.
  card_.abort();
  card_.to_card(low * card::kCardPage, std::as_bytes(std::span(tables->low)));
  card_.to_card(high * card::kCardPage, std::as_bytes(std::span(tables->high)));
  card_.set_up({.pixels = pixels,
                .image_pages = image_pages_,
                .calibration_low = low,
                .calibration_high = high,
                .bright = static_cast<std::int16_t>(steps_.steps.front().count_at.value_or(0)),
                .lists = {.on = list_ != nullptr,
                          .threshold = static_cast<std::int16_t>(steps_.steps.front().mark_at.value_or(0)),
                          .pages = list_pages_}});
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
      if (begun - handed_back_.load(std::memory_order_acquire) < benches_.size()) break;
      freed_.wait(freed, kNap);
    }
    Flight flight{.stack = stack, .bench = begun % static_cast<std::uint32_t>(benches_.size())};
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
  card::UnitStack place = benches_[flight.bench];
  place.images = images;
  try {
    std::uint64_t page = place.raw;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] == 0) continue;
      card_.to_card(page * card::kCardPage, {stack.images[i].raw, image_bytes_});
      page += image_pages_;
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
    if (flight.posted) finish(flight);
    hand_back(flight);
  }
}

std::optional<Busy> FpgaUnit::busy() const {
  const auto doing = watch_.longest();
  if (!doing) return {};
  return steps_.busy(*doing, 0, steps_.steps.size());
}

/// False: it will not be done.
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
      flow_.fail(fmt::format("the card has done nothing for {} s; does it run?", kPatienceNs / 1'000'000'000));
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
  const card::UnitStack& place = benches_[flight.bench];
  try {
    const auto images = static_cast<std::size_t>(std::count(work.begin(), work.end(), std::uint8_t{1}));
    card_.from_card(place.results * card::kCardPage, std::as_writable_bytes(std::span(counts_.data(), images)));
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] != 0) settle(stack.images[i], counts_[at++]);
    }
    stack.decided_ns = now_ns();
    std::uint64_t page = place.photons;
    std::uint32_t list_page = place.lists;
    at = 0;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (work[i] == 0) continue;
      StackImage& image = stack.images[i];
      if (image.decision == Decision::accepted && steps_.output.pixels) {
        std::byte* const to = photons_.data() + (std::size_t{stack.slot} * stack_ + i) * photons_stride_;
        card_.from_card(page * card::kCardPage, {to, image_bytes_});
        image.pixels = to;
      }
      if (image.decision == Decision::accepted && list_ != nullptr) {
        fetch_list(image, counts_[at], list_page, std::size_t{stack.slot} * stack_ + i);
      }
      at += 1;
      page += image_pages_;
      list_page += list_pages_;
    }
  } catch (const std::exception& error) {
    flow_.fail(error.what());
    return;
  }
  flight.lost = false;
}

void FpgaUnit::settle(StackImage& image, const card::UnitCounts& counts) noexcept {
  image.measured = true;
  const PlannedStep& conversion = steps_.steps.front();
  image.scalars[conversion.first_column] = Scalar::of_count(counts.masked);
  image.scalars[conversion.first_column + 1] = Scalar::of_count(counts.saturated);
  image.decision = Decision::accepted;
  if (count_ != nullptr) {
    image.scalars[count_->first_column] = Scalar::of_count(counts.bright);
    if (const std::uint8_t verdict = count_->rides->verdict(counts.bright); verdict != 0) {
      image.decision = Decision::vetoed;
      image.reason = count_->reasons[verdict - 1U];
      return;
    }
  }
  if (list_ != nullptr && counts.listed > steps_.output.list_capacity) {
    image.decision = Decision::errored;
    image.failed_in = static_cast<std::uint8_t>(list_ - steps_.steps.data() + 1);
  }
}

void FpgaUnit::fetch_list(StackImage& image, const card::UnitCounts& counts, std::uint32_t page, std::size_t place) {
  const std::size_t bytes = std::size_t{counts.list_beats} * card::kUnitListBeatBytes;
  const std::size_t entries = counts.listed;
  auto* const index = reinterpret_cast<std::uint32_t*>(indexes_.data()) + place * list_stride_;
  auto* const value = reinterpret_cast<std::int16_t*>(values_.data()) + place * list_stride_;
  if (bytes <= beats_.size()) {
    const std::span<std::byte> beats(beats_.data(), bytes);
    if (bytes != 0) card_.from_card(page * card::kCardPage, beats);
    if (card::unpack_list(beats, image_bytes_ / kWordBytes, {{index, entries}, {value, entries}}) == entries) {
      image.sparse = {index, value, counts.listed};
      return;
    }
  }
  throw StateError(fmt::format("the list of an image is none of {} pixels in {} beats", entries, counts.list_beats));
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
