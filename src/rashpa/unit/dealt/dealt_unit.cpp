// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/dealt/dealt_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "rashpa/core/error.hpp"

namespace rashpa::unit {

DealtUnit::DealtUnit(std::uint32_t members, std::uint32_t stacks, Doorbell& done_bell, const Make& make)
    : order_(stacks), next_(members) {
  for (std::uint32_t number = 0; number < members; ++number) {
    members_.push_back(std::make_unique<Member>(done_bell));
    members_.back()->unit = make(number, members_.back()->finished);
    if (members_.back()->unit->output().results.accumulations.empty()) continue;
    throw ConfigError("unit: the pipeline adds up over images, which several devices cannot do together; name one");
  }
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

void DealtUnit::submit(Stack* stack) noexcept {
  const std::uint32_t chosen = choose();
  Member& member = *members_[chosen];
  ++member.submitted;
  // First who has it: a ring that comes at once finds it.
  order_.try_push(chosen);
  member.unit->submit(stack);
}

Stack* DealtUnit::take() noexcept {
  if (next_ == members_.size() && !order_.try_pop(next_)) return nullptr;
  Stack* const stack = members_[next_]->unit->take();
  if (stack != nullptr) next_ = static_cast<std::uint32_t>(members_.size());
  return stack;
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
  return words;
}

std::size_t DealtUnit::device_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& member : members_) bytes += member->unit->device_bytes();
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

std::string DealtUnit::notice() const {
  std::string said;
  std::size_t failed = 0;
  for (const auto& member : members_) {
    const std::string why = member->unit->error();
    failed += why.empty() ? 0U : 1U;
    const std::string one = why.empty() ? member->unit->notice() : fmt::format("{}; the others go on", why);
    if (!one.empty()) said += fmt::format("{}{}", said.empty() ? "" : "; ", one);
  }
  return failed == members_.size() ? std::string{} : said;
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
