// SPDX-License-Identifier: Apache-2.0
/// Pixels that are processed before their stack is there.
#include <algorithm>

#include "rashpa/core/ability.hpp"
#include "rashpa/kernel/contract/by_item.hpp"
#include "rashpa/unit/cpu/cpu_unit.hpp"

namespace rashpa::unit {

namespace {
constexpr std::size_t kBlock = 4096;  // CpuPass::run() begins at multiples of it
}  // namespace

void CpuUnit::make_early() {
  const Work& first = works_.front();
  can_begin_early_ = first.pass != nullptr && first.pass->grain() == kernel::CpuPass::Grain::block &&
                     !steps_.steps.front().makes_pixels && !steps_.steps.front().marked &&
                     able<const kernel::ByItem>(*first.pass) != nullptr;
  if (!can_begin_early_) return;
  early_done_.resize(layout_.stack);
  blocks_.reserve(layout_.stack * (first.pixels / first.task_pixels + 2));
}

bool CpuUnit::begin_early(Stack& stack, std::uint32_t image, std::size_t end) noexcept {
  std::uint32_t idle = 0;
  if (!can_begin_early_ || !waiting_.compare_exchange_strong(idle, 1, std::memory_order_acq_rel)) return false;
  if (early_stack_ != stack.number) {
    early_stack_ = stack.number;
    early_images_ = stack.count;
    std::fill(early_done_.begin(), early_done_.end(), 0);
    works_[0].pass->begin(stack.count);
  }
  const std::size_t last = end >= works_[0].pixels ? works_[0].pixels : end / kBlock * kBlock;
  blocks_.clear();
  add_blocks(image, early_done_[image], last);
  if (blocks_.empty()) {
    leave();
    return true;
  }
  early_done_[image] = last;
  stack_ = &stack;
  early_ = true;
  team_->publish(*this, static_cast<std::uint32_t>(blocks_.size()));
  return true;
}

void CpuUnit::add_blocks(std::uint32_t image, std::size_t first, std::size_t last) noexcept {
  for (const std::size_t step = works_[0].task_pixels; first < last; first += step) {
    blocks_.push_back({image, first, std::min(first + step, last)});
  }
}

/// Returns true when the first step's pass has pixels of the stack in hand that still count: each image is there, and
/// is the item of its own number.
bool CpuUnit::goes_on() const noexcept {
  if (early_stack_ != stack_->number || early_images_ != stack_->count || items_ != stack_->count) return false;
  const auto images = stack_->view();
  return std::all_of(images.begin(), images.end(),
                     [](const StackImage& image) { return image.completeness == Completeness::complete; }) &&
         std::all_of(dark_.begin(), dark_.begin() + static_cast<std::ptrdiff_t>(items_),
                     [](std::uint8_t dark) { return dark == 0; });
}

}  // namespace rashpa::unit
