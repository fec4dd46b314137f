// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/dealt/dealt_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::unit {

DealtUnit::DealtUnit(std::uint32_t members, std::uint32_t stacks, Doorbell& done_bell, const Make& make,
                     std::unique_ptr<JoinedWindows> windows)
    : windows_(std::move(windows)), order_(stacks) {
  if (members > kMostMembers) {
    throw ConfigError(fmt::format("unit: {} devices, {} at most; name fewer", members, kMostMembers));
  }
  for (std::uint32_t number = 0; number < members; ++number) {
    members_.push_back(std::make_unique<Member>(done_bell));
    members_.back()->unit = make(number, members_.back()->finished);
  }
  output_ = members_.front()->unit->output();
  if (windows_ != nullptr) output_.results.accumulations = windows_->facts();
}

DealtUnit::~DealtUnit() { stop(); }

std::uint32_t DealtUnit::choose() noexcept {
  const auto count = static_cast<std::uint32_t>(members_.size());
  std::uint32_t chosen = turn_;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = turn_ + i < count ? turn_ + i : turn_ + i - count;
    const Member& member = *members_[number];
    const std::uint32_t unfinished = member.submitted - member.finished.count();
    if (unfinished >= least || !member.unit->error().empty()) continue;
    least = unfinished;
    chosen = number;
  }
  turn_ = chosen + 1 < count ? chosen + 1 : 0;
  return chosen;
}

void DealtUnit::submit_to(std::uint32_t member, Stack* stack) noexcept {
  ++members_[member]->submitted;
  members_[member]->unit->submit(stack);
}

void DealtUnit::submit(Stack* stack) noexcept {
  changes_.begin(stack->number);
  Dealt dealt{choose(), {}};
  if (windows_ != nullptr) dealt.ending = windows_->note(dealt.member, *stack);
  // First the member that has it: a ring that comes at once finds it.
  order_.push_must(dealt);
  // Shadows before the stack, which is somebody else's once it is submitted.
  for (Members left = dealt.ending.shadows; left != 0; left &= left - 1) {
    const auto member = static_cast<std::uint32_t>(std::countr_zero(left));
    submit_to(member, windows_->shadow(member, *stack));
  }
  submit_to(dealt.member, stack);
}

ReadyLimits DealtUnit::ready(std::size_t step, const kernel::StepOf& with) {
  std::vector<ReadyLimits> all;
  for (const auto& member : members_) all.push_back(unit::ready(*member->unit, step, with));
  return changes_.ready(std::move(all));
}

Stack* DealtUnit::take() noexcept {
  if (!next_) {
    Dealt dealt;
    if (!order_.try_pop(dealt)) return nullptr;
    next_ = dealt;
  }
  if (back_ == nullptr) {
    back_ = members_[next_->member]->unit->take();
    if (back_ == nullptr) return nullptr;
    awaited_ = next_->ending.shadows;
    if (windows_ != nullptr) windows_->keep(next_->member, back_->accumulated);
  }
  while (awaited_ != 0) {
    const auto member = static_cast<std::uint32_t>(std::countr_zero(awaited_));
    const Stack* const shadow = members_[member]->unit->take();
    if (shadow == nullptr) return nullptr;
    windows_->keep(member, shadow->accumulated);
    awaited_ &= awaited_ - 1;
  }
  if (windows_ != nullptr) windows_->join(next_->ending, *back_);
  next_.reset();
  return std::exchange(back_, nullptr);
}

Accumulated DealtUnit::conclude() noexcept {
  if (windows_ == nullptr) return {};
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    windows_->keep(member, concluded(*members_[member]->unit));
  }
  return windows_->conclude();
}

void DealtUnit::stop() noexcept {
  for (const auto& member : members_) {
    if (member->unit != nullptr) member->unit->stop();
  }
}

std::string DealtUnit::how() const {
  std::string words = fmt::format("{} devices", members_.size());
  for (const auto& member : members_) {
    words += fmt::format("{}{}", &member == &members_.front() ? ": " : "; ", member->unit->how());
  }
  if (windows_ != nullptr) words += fmt::format("; {}", windows_->joiner().how());
  return words;
}

std::size_t DealtUnit::device_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& member : members_) bytes += device_bytes_of(*member->unit);
  return bytes;
}

std::string DealtUnit::error() const {
  std::string all;
  for (const auto& member : members_) {
    const std::string one = member->unit->error();
    if (one.empty()) return {};
    all += fmt::format("{}{}", all.empty() ? "" : "; ", one);
  }
  return all;
}

std::string DealtUnit::failure(std::uint8_t failed_in) const {
  for (const auto& member : members_) {
    if (std::string why = member->unit->failure(failed_in); !why.empty()) return why;
  }
  return {};
}

std::optional<Busy> DealtUnit::busy() const {
  std::optional<Busy> longest;
  for (const auto& member : members_) longest = longer(std::move(longest), member->unit->busy());
  return longest;
}

std::string DealtUnit::notice() const {
  std::string said;
  std::size_t failed = 0;
  for (const auto& member : members_) {
    const std::string why = member->unit->error();
    failed += why.empty() ? 0U : 1U;
    const std::string one = why.empty() ? notice_of(*member->unit) : fmt::format("{}; the others go on", why);
    if (!one.empty()) said += fmt::format("{}{}", said.empty() ? "" : "; ", one);
  }
  if (failed == members_.size()) return {};
  if (const std::string lost = windows_ != nullptr ? windows_->lost() : std::string{}; !lost.empty()) {
    said += fmt::format("{}{}", said.empty() ? "" : "; ", lost);
  }
  return said;
}

std::vector<std::string> devices_in(const std::string& device) {
  if (device.find(',') == std::string::npos || device.find_first_not_of("0123456789,") != std::string::npos) {
    return {device};
  }
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= device.size();) {
    const std::size_t end = std::min(device.find(',', begin), device.size());
    all.push_back(device.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

}  // namespace rashpa::unit
