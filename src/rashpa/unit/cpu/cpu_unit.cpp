// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cpu/cpu_unit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/core/system/cache_line.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"

namespace rashpa::unit {

namespace {

using kernel::CpuPass;
using kernel::Finding;
using kernel::Items;

constexpr std::size_t kMarks = 64;  // pixels of a word

constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

/// Pixels of one task: enough tasks that threads end together, long enough that taking one costs nothing.
std::size_t task_pixels(std::size_t pixels, unsigned threads) {
  const std::size_t wanted = threads == 1 ? 65536 : pixels / (8 * std::size_t{threads});
  const std::size_t fewest = round_up(pixels / memory::Team::kMostTasks + 1, 4096);
  return std::max(std::clamp<std::size_t>(wanted / 4096 * 4096, 4096, 65536), fewest);
}

/// Bytes from one image that the step makes to the next.
std::size_t stride_of(const PlannedStep& step) {
  return round_up(step.out_shape.pixels() * pixel_bytes(step.out.type), kCacheLine);
}

const Cores& checked(const Cores& cores) {
  if (cores.threads == 0 || cores.threads > memory::Team::kMostThreads) {
    throw ConfigError(
        fmt::format("unit: {} threads are not possible; use 1 to {}", cores.threads, memory::Team::kMostThreads));
  }
  return cores;
}

}  // namespace

CpuUnit::CpuUnit(const Pipeline& pipeline, const Layout& layout, const Cores& cores, Doorbell& done_bell)
    : steps_(steps_of(pipeline, layout)),
      layout_(layout),
      threads_(checked(cores).threads),
      done_bell_(done_bell),
      in_(layout.stacks),
      out_(layout.stacks),
      image_(layout.stack),
      place_(layout.stack),
      dark_(layout.stack),
      cell_(layout.stack),
      pixels_of_(layout.stack),
      made_(layout.stack),
      marks_of_(layout.stack),
      sums_of_(layout.stack),
      counted_(layout.stack),
      watch_(std::size_t{cores.threads} + 1) {
  if (steps_.steps.empty()) return;  // nothing to do for a team
  make_works();
  make_accumulations();
  make_early();
  team_ = std::make_unique<memory::Team>(cores.threads, cores.first_processor, "unit");
}

void CpuUnit::make_works() {
  std::size_t most_pixels = 0;
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const PlannedStep& step = steps_.steps[number];
    if (!step.step->declaration().runs_on("cpu")) {
      throw ConfigError(fmt::format("unit: unit cpu has no version of the kernel {}; choose another unit",
                                    step.step->declaration().name));
    }
    Work work;
    if (step.makes_pixels) {
      const std::size_t stride = stride_of(step);
      if (number == steps_.last_maker) {
        image_stride_ = stride;
        outputs_ = memory::Buffer(std::size_t{layout_.stacks} * layout_.stack * stride, memory::MemoryKind::huge);
      } else {
        work.made = memory::Buffer(layout_.stack * stride, memory::MemoryKind::huge);
      }
    }
    work.pixels = step.in_shape.pixels();
    work.task_pixels = task_pixels(work.pixels, threads_);
    most_pixels = std::max(most_pixels, step.out_shape.pixels());
    work.rides = step.rides;
    if (!step.rides) work.pass = step.step->on_cpu(steps_.setup(number, layout_, threads_, 1));
    if (work.pass != nullptr) work.by_cell = able<kernel::ByCell>(*work.pass);
    works_.push_back(std::move(work));
  }
  if (steps_.marks) {
    mark_words_ = round_up(most_pixels, kMarks) / kMarks;
    marks_.resize(layout_.stack * mark_words_);
  }
}

void CpuUnit::make_accumulations() {
  const std::vector<Accumulation>& made = steps_.output.results.accumulations;
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const auto place = steps_.steps[number].accumulation;
    if (!place) continue;
    const std::size_t elements = made[*place].elements();
    accumulating_.push_back(
        {number, elements, task_pixels(elements, threads_), {made[*place], layout_.stack, layout_.stacks}, {}});
  }
}

CpuUnit::~CpuUnit() { stop(); }

/// Begins to write the next window that ends with the stack in hand. False when there is none.
bool CpuUnit::conclude_next() noexcept {
  for (; accumulation_ < accumulating_.size(); ++accumulation_) {
    Accumulating& one = accumulating_[accumulation_];
    if (!one.windows.ends_with(stack_->number)) continue;
    one.to = one.windows.arrays();
    writing_ = true;
    team_->publish(*this, static_cast<std::uint32_t>((one.elements + one.task_elements - 1) / one.task_elements));
    return true;
  }
  return false;
}

Accumulated CpuUnit::conclude() noexcept {
  Accumulated all{};
  for (std::size_t a = 0; a < accumulating_.size(); ++a) {
    Accumulating& one = accumulating_[a];
    if (!one.windows.is_open()) continue;
    works_[one.step].pass->conclude(0, one.windows.arrays(), 0, one.elements);
    all[a] = one.windows.close();
  }
  return all;
}

std::byte* CpuUnit::made_by(std::size_t number, std::uint32_t place, std::size_t item) const noexcept {
  if (number == steps_.last_maker) return outputs_.data() + place * image_stride_;
  const std::size_t stride = stride_of(steps_.steps[number]);
  return works_[number].made.data() + item * stride;
}

void CpuUnit::submit(Stack* stack) noexcept {
  in_.push_must(stack);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) == 0) work_off();
}

std::string CpuUnit::how() const {
  return fmt::format("{} thread{}: {}", threads_, threads_ == 1 ? "" : "s", steps_.words());
}

std::string CpuUnit::failure(std::uint8_t failed_in) const {
  if (failed_in == 0 || failed_in > works_.size() || works_[failed_in - 1U].pass == nullptr) return {};
  return works_[failed_in - 1U].pass->failure();
}

std::optional<Busy> CpuUnit::busy() const {
  const auto doing = watch_.longest();
  if (!doing) return {};
  return Busy{.kernel = steps_.steps[doing->step].step->declaration().name,
              .image = doing->image,
              .frame = doing->frame,
              .since_ns = doing->since_ns};
}

StepWatch::Turn CpuUnit::at_work(std::size_t worker, std::size_t step, std::size_t item) noexcept {
  const StackImage& image = stack_->images[item < items_ ? image_[item] : 0];
  return {watch_, worker, static_cast<std::uint32_t>(step), image.index, image.frame_number};
}

std::string CpuUnit::notice() const {
  for (const Work& work : works_) {
    if (work.pass == nullptr) continue;
    if (std::string text = work.pass->notice(); !text.empty()) return text;
  }
  return {};
}

Stack* CpuUnit::take() noexcept {
  Stack* stack = nullptr;
  return out_.try_pop(stack) ? stack : nullptr;
}

void CpuUnit::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  for (std::uint32_t left = waiting_.load(std::memory_order_acquire); left > 0;) {
    waiting_.wait(left, std::memory_order_acquire);
    left = waiting_.load(std::memory_order_acquire);
  }
  team_.reset();
}

/// Takes waiting stacks until one needs the team, which then goes on in finished().
void CpuUnit::work_off() noexcept {
  do {
    in_.try_pop(stack_);
    if (begin(*stack_)) return;
    hand_back();
  } while (waiting_.fetch_sub(1, std::memory_order_acq_rel) > 1);
  waiting_.notify_all();
}

ReadyLimits CpuUnit::ready(std::size_t step, const kernel::StepOf& with) {
  Change change{.step = step, .limits = adjusted_limits(steps_, step, with, layout_)};
  if (!steps_.steps[step].rides && able<kernel::Limited>(*works_[step].pass) == nullptr) throw_fixed(*with);
  return changes_.ready(std::move(change));
}

/// Returns true when the change is done.
bool CpuUnit::adopt(Change& change) noexcept {
  Work& work = works_[change.step];
  if (work.rides) {
    work.rides = kernel::limits_in<kernel::CountTap>(change.limits);
  } else {
    able<kernel::Limited>(*work.pass)->adopt(change.limits);
  }
  return true;
}

/// Collects what is to be processed. False when that is nothing.
bool CpuUnit::begin(Stack& stack) noexcept {
  if (changes_.begin()) changes_.apply(stack.number, [this](Change& change) { return adopt(change); });
  items_ = 0;
  stack.accumulated = {};
  for (Accumulating& one : accumulating_) one.windows.open(stack);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    StackImage& image = stack.images[i];
    if (settle_without_work(steps_, stopping_.load(std::memory_order_acquire), image)) continue;
    dark_[items_] = (image.flags & FrameRecord::dark) != 0 ? 1 : 0;
    cell_[items_] = cell_of(image.flags);
    image.measured = dark_[items_] == 0 || steps_.keep_darks;
    image_[items_] = i;
    place_[items_] = stack.slot * layout_.stack + i;
    pixels_of_[items_] = image.raw;
    sums_of_[items_] = image.sums;
    marks_of_[items_] = marks_.data() + items_ * mark_words_;
    items_ += 1;
  }
  step_ = 0;
  decided_ = false;
  delivered_ = false;
  accumulation_ = 0;
  resumed_ = goes_on();
  early_stack_.reset();
  return go_on();
}

/// Settles steps until one needs the team. False when the stack is done.
bool CpuUnit::go_on() noexcept {
  if (delivered_) return conclude_next();
  for (; step_ < steps_.steps.size() && items_ > 0; ++step_) {
    if (step_ == steps_.decided && !decided_) {
      stack_->decided_ns = now_ns();
      decided_ = true;
    }
    if (works_[step_].pass != nullptr && steps_.steps[step_].step->declaration().takes_pixels()) {
      if (begin_pass()) return true;
    }
    settle(step_);
  }
  if (!decided_) stack_->decided_ns = now_ns();
  deliver();
  delivered_ = true;
  return conclude_next();
}

/// Returns false when all has been done early.
bool CpuUnit::begin_pass() noexcept {
  const Work& work = works_[step_];
  CpuPass& pass = *work.pass;
  if (resumed_ && step_ == 0) {
    blocks_.clear();
    for (std::uint32_t image = 0; image < items_; ++image) add_blocks(image, early_done_[image], work.pixels);
    if (!blocks_.empty()) team_->publish(*this, static_cast<std::uint32_t>(blocks_.size()));
    return !blocks_.empty();
  }
  if (steps_.steps[step_].makes_pixels) {
    for (std::size_t item = 0; item < items_; ++item) made_[item] = made_by(step_, place_[item], item);
  }
  if (work.by_cell != nullptr) work.by_cell->take_cells({cell_.data(), items_});
  pass.begin(items_);
  const std::size_t tasks =
      pass.grain() == CpuPass::Grain::block ? (work.pixels + work.task_pixels - 1) / work.task_pixels : items_;
  team_->publish(*this, static_cast<std::uint32_t>(tasks));
  return true;
}

void CpuUnit::run(unsigned worker, std::uint32_t task) noexcept {
  if (writing_) {
    const Accumulating& one = accumulating_[accumulation_];
    const std::size_t first = task * one.task_elements;
    const StepWatch::Turn turn = at_work(worker, one.step, 0);
    works_[one.step].pass->conclude(worker, one.to, first, std::min(first + one.task_elements, one.elements));
    return;
  }
  if (early_ || (resumed_ && step_ == 0)) {
    const Block& block = blocks_[task];
    const StackImage& image = stack_->images[block.image];
    const std::byte* const pixels = image.raw;
    const std::uint32_t place = stack_->slot * layout_.stack + block.image;
    const std::uint8_t dark = 0;
    const Items item{block.image, 1, &pixels, nullptr, nullptr, &place, &image.sums, &dark};
    works_[0].pass->run(worker, item, block.first, block.last);
    return;
  }
  const Work& work = works_[step_];
  CpuPass& pass = *work.pass;
  const bool by_block = pass.grain() == CpuPass::Grain::block;
  const StepWatch::Turn turn = at_work(worker, step_, by_block ? 0 : task);
  if (by_block) {
    const std::size_t first = task * work.task_pixels;
    const Items items{
        0, items_, pixels_of_.data(), made_.data(), marks_of_.data(), place_.data(), sums_of_.data(), dark_.data()};
    pass.run(worker, items, first, std::min(first + work.task_pixels, work.pixels));
  } else {
    const Items item{task,        1, &pixels_of_[task], &made_[task], &marks_of_[task], &place_[task], &sums_of_[task],
                     &dark_[task]};
    pass.run(worker, item, 0, work.pixels);
  }
}

void CpuUnit::finished() noexcept {
  if (early_) {
    early_ = false;
    return leave();
  }
  if (writing_) {
    stack_->accumulated[accumulation_] = accumulating_[accumulation_].windows.close();
    writing_ = false;
    ++accumulation_;
  } else {
    settle(step_);
    ++step_;
  }
  if (go_on()) return;
  hand_back();
  leave();
}

/// Gives the unit up, to the next stack if one waits.
void CpuUnit::leave() noexcept {
  if (waiting_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    work_off();
  } else {
    waiting_.notify_all();
  }
}

/// The step's results, and the items that are left behind it.
void CpuUnit::settle(std::size_t number) noexcept {
  const PlannedStep& step = steps_.steps[number];
  std::size_t kept = 0;
  for (std::size_t item = 0; item < items_; ++item) {
    Scalar* const numbers = stack_->images[image_[item]].scalars.data();
    Finding finding{.scalars = numbers + step.first_column, .before = numbers};
    const StepWatch::Turn turn = at_work(threads_, number, item);
    if (const auto& rides = works_[number].rides) {
      finding.scalars[0] = Scalar::of_count(counted_[item]);
      finding.verdict = rides->verdict(counted_[item]);
    } else {
      works_[number].pass->finish(item, finding);
    }
    const bool learned = dark_[item] != 0 && !steps_.keep_darks;
    if (learned ? !settle_dark(number, item) : !settle(step, item, finding)) continue;
    image_[kept] = image_[item];
    place_[kept] = place_[item];
    dark_[kept] = dark_[item];
    cell_[kept] = cell_[item];
    pixels_of_[kept] = step.makes_pixels ? made_[item] : pixels_of_[item];
    marks_of_[kept] = marks_of_[item];
    sums_of_[kept] = sums_of_[item];
    counted_[kept] = step.count_at ? finding.counted : counted_[item];
    ++kept;
  }
  items_ = kept;
  if (step.accumulation) accumulating_[*step.accumulation].windows.add(kept);
}

/// Returns false when the image goes no further.
bool CpuUnit::settle(const PlannedStep& step, std::size_t item, Finding& finding) noexcept {
  StackImage& image = stack_->images[image_[item]];
  if (finding.failed) {
    image.decision = Decision::errored;
    image.failed_in = static_cast<std::uint8_t>(&step - steps_.steps.data() + 1);
    return false;
  }
  if (finding.verdict != 0) {
    image.decision = Decision::vetoed;
    image.reason = step.reasons[finding.verdict - 1U];
    return false;
  }
  if (step.makes_list) image.sparse = finding.list;
  if (step.table) image.tables[*step.table] = finding.table;
  if (step.profile) image.profiles[*step.profile] = finding.profile;
  return true;
}

/// A dark image that is not kept goes as far as steps learn from it. False when that is the end.
bool CpuUnit::settle_dark(std::size_t number, std::size_t item) noexcept {
  if (number + 1 < steps_.learned) return true;
  StackImage& image = stack_->images[image_[item]];
  image.scalars = {};
  image.decision = Decision::vetoed;
  image.reason = VetoReason::dark;
  return false;
}

/// The remaining items have passed all steps.
void CpuUnit::deliver() noexcept {
  for (std::size_t item = 0; item < items_; ++item) {
    StackImage& image = stack_->images[image_[item]];
    image.decision = Decision::accepted;
    if (steps_.output.pixels) image.pixels = pixels_of_[item];
  }
}

void CpuUnit::hand_back() noexcept {
  out_.push_must(stack_);
  done_bell_.ring();
}

}  // namespace rashpa::unit
