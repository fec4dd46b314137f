#include "rashpa/unit/cpu/cpu_unit.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::unit {

namespace {

namespace jungfrau = kernel::jungfrau;
namespace csr = kernel::csr;

constexpr std::size_t kCacheLine = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

/// Pixels of one task: enough tasks that threads end together, long enough that taking one costs nothing.
std::size_t task_pixels(std::size_t pixels, unsigned threads) {
  const std::size_t wanted = threads == 1 ? 65536 : pixels / (8 * std::size_t{threads});
  const std::size_t fewest = round_up(pixels / Team::kMostTasks + 1, 4096);
  return std::max(std::clamp<std::size_t>(wanted / 4096 * 4096, 4096, 65536), fewest);
}

const Placement& checked(const Placement& placement) {
  if (placement.threads == 0 || placement.threads > Team::kMostThreads) {
    throw ConfigError(fmt::format("unit: {} threads; 1 to {} are possible", placement.threads, Team::kMostThreads));
  }
  return placement;
}

}  // namespace

CpuUnit::CpuUnit(const Pipeline& pipeline, const Layout& layout, const Placement& placement, Doorbell& done_bell)
    : steps_(steps_of(pipeline, layout)),
      layout_(layout),
      pixels_(static_cast<std::size_t>(layout.width) * layout.height),
      task_pixels_(task_pixels(pixels_, checked(placement).threads)),
      threads_(placement.threads),
      done_bell_(done_bell),
      in_(layout.stacks),
      out_(layout.stacks),
      image_of_item_(layout.stack),
      raw_of_item_(layout.stack),
      out_of_item_(layout.stack),
      marks_of_item_(layout.stack),
      counts_(std::size_t{placement.threads} * layout.stack),
      compacted_(layout.stack) {
  if (!steps_.converts) return;  // nothing to do for a team
  conversion_.emplace(*steps_.conversion);
  const std::size_t images = std::size_t{layout.stacks} * layout.stack;
  image_stride_ = round_up(pixels_ * pixel_bytes(steps_.output), kCacheLine);
  outputs_ = memory::Buffer(images * image_stride_, memory::MemoryKind::huge);
  if (steps_.compaction) {
    capacity_ = csr::capacity_of(*steps_.compaction, pixels_);
    list_stride_ = round_up((capacity_ + csr::kSlack) * (sizeof(std::uint32_t) + sizeof(std::int16_t)), kCacheLine);
    lists_ = memory::Buffer(images * list_stride_, memory::MemoryKind::huge);
    marks_.resize(layout.stack * (round_up(pixels_, jungfrau::kGroup) / jungfrau::kGroup));
  }
  team_ = std::make_unique<Team>(placement.threads, placement.first_processor, static_cast<Team::Work&>(*this));
}

CpuUnit::~CpuUnit() { stop(); }

std::byte* CpuUnit::pixels_of(std::uint32_t slot, std::uint32_t image) const noexcept {
  return outputs_.data() + (std::size_t{slot} * layout_.stack + image) * image_stride_;
}

void CpuUnit::submit(Stack* stack) noexcept {
  in_.try_push(stack);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) == 0) work_off();
}

std::string CpuUnit::how() const { return fmt::format("{} thread{}", threads_, threads_ == 1 ? "" : "s"); }

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

/// Collects what is to be processed. False when that is nothing.
bool CpuUnit::begin(Stack& stack) noexcept {
  items_ = 0;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    StackImage& image = stack.images[i];
    if (settle_without_work(steps_, stopping_.load(std::memory_order_acquire), image)) continue;
    image_of_item_[items_] = i;
    raw_of_item_[items_] = reinterpret_cast<const std::uint16_t*>(image.raw);
    out_of_item_[items_] = pixels_of(stack.slot, i);
    marks_of_item_[items_] = marks_.data() + items_ * (marks_.size() / layout_.stack);
    items_ += 1;
  }
  if (items_ == 0) {
    stack.decided_ns = now_ns();
    return false;
  }
  std::fill(counts_.begin(), counts_.end(), jungfrau::Counts{});
  phase_ = Phase::convert;
  team_->publish(static_cast<std::uint32_t>((pixels_ + task_pixels_ - 1) / task_pixels_));
  return true;
}

void CpuUnit::run(unsigned worker, std::uint32_t task) noexcept {
  phase_ == Phase::convert ? convert(worker, task) : compact(task);
}

void CpuUnit::convert(unsigned worker, std::uint32_t task) noexcept {
  const std::size_t first = task * task_pixels_;
  const jungfrau::Images images{items_, raw_of_item_.data(), out_of_item_.data(), marks_of_item_.data(),
                                counts_.data() + std::size_t{worker} * layout_.stack};
  jungfrau::convert(*conversion_, images, steps_.taps, first, std::min(first + task_pixels_, pixels_));
}

void CpuUnit::compact(std::uint32_t task) noexcept {
  const std::size_t item = compacted_[task];
  const std::uint32_t i = image_of_item_[item];
  StackImage& image = stack_->images[i];
  std::byte* list = lists_.data() + (std::size_t{stack_->slot} * layout_.stack + i) * list_stride_;
  const csr::Entries entries{reinterpret_cast<std::uint32_t*>(list),
                             reinterpret_cast<std::int16_t*>(list + (capacity_ + csr::kSlack) * sizeof(std::uint32_t)),
                             capacity_};
  const std::size_t count =
      csr::compact_marked(static_cast<const std::int16_t*>(out_of_item_[item]), marks_of_item_[item], pixels_, entries);
  if (count == csr::kOverflow) {
    image.decision = Decision::errored;
    image.pixels = nullptr;
  } else {
    image.sparse = {entries.index, entries.value, static_cast<std::uint32_t>(count)};
  }
}

void CpuUnit::finished() noexcept {
  if (phase_ == Phase::convert) {
    decide();
    if (compactions_ > 0) {
      phase_ = Phase::compact;
      team_->publish(static_cast<std::uint32_t>(compactions_));
      return;
    }
  }
  hand_back();
  if (waiting_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    work_off();
  } else {
    waiting_.notify_all();
  }
}

void CpuUnit::decide() noexcept {
  compactions_ = 0;
  for (std::size_t item = 0; item < items_; ++item) {
    StackImage& image = stack_->images[image_of_item_[item]];
    decide(image, item);
    if (steps_.compaction && image.decision == Decision::accepted) {
      compacted_[compactions_++] = static_cast<std::uint32_t>(item);
    }
  }
  stack_->decided_ns = now_ns();
}

void CpuUnit::decide(StackImage& image, std::size_t item) noexcept {
  for (unsigned worker = 0; worker < threads_; ++worker) {
    const jungfrau::Counts& counts = counts_[std::size_t{worker} * layout_.stack + item];
    image.masked_pixels += counts.masked;
    image.saturated_pixels += counts.saturated;
    image.bright_pixels += counts.bright;
  }
  image.reason = steps_.veto ? kernel::bragg_count::decide(*steps_.veto, image.bright_pixels) : VetoReason::none;
  image.decision = image.reason == VetoReason::none ? Decision::accepted : Decision::vetoed;
  if (image.decision == Decision::accepted) image.pixels = static_cast<const std::byte*>(out_of_item_[item]);
}

void CpuUnit::hand_back() noexcept {
  out_.try_push(stack_);
  done_bell_.ring();
}

}  // namespace rashpa::unit
