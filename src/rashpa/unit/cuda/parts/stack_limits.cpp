// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/stack_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "rashpa/core/error.hpp"

namespace rashpa::unit::cuda {

namespace {

constexpr std::size_t kAlignment = 16;  // of limits
constexpr std::size_t kLine = 64;       // of orders

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

StackLimits::StackLimits(const Steps& steps, const Layout& layout, std::size_t begin,
                         const std::vector<Meeting>& meetings)
    : begin_(begin), bounds_(steps.steps.size()), written_(layout.stacks) {
  for (std::size_t step = 0; step < steps.steps.size(); ++step) {
    names_.push_back(steps.steps[step].step->declaration().name);
    const auto limits = steps.steps[step].step->limits(steps.setup(step, layout, 1, 1));
    limits_.push_back(limits ? keep(*limits) : std::nullopt);
  }
  for (const Meeting& meeting : meetings) {
    if (meeting.bounds.empty()) continue;
    bounds_[meeting.behind - 1] = keep(kernel::limit_bytes(std::span(meeting.bounds)));
  }
  now_.resize(rounded(now_.size(), kLine));
}

std::optional<StackLimits::Room> StackLimits::keep(const kernel::LimitBytes& bytes) {
  const Room room{begin_ + now_.size(), bytes.size()};
  now_.resize(now_.size() + rounded(bytes.size(), kAlignment));
  put(room, bytes);
  return room;
}

void StackLimits::put(const std::optional<Room>& room, const kernel::LimitBytes& bytes) noexcept {
  if (room) std::memcpy(now_.data() + (room->at - begin_), bytes.data(), std::min(bytes.size(), room->bytes));
}

void StackLimits::check(const Change& change) const {
  const auto& room = limits_[change.step];
  const auto& bounds = bounds_[change.step];
  if (room && change.limits.size() <= room->bytes && change.bounds.size() == (bounds ? bounds->bytes : 0)) return;
  throw ConfigError(
      fmt::format("unit: limits of {} take {} bytes, and unit cuda has {} for them until the run ends; give a shorter "
                  "rule, or start another run",
                  names_[change.step], change.limits.size() + change.bounds.size(),
                  (room ? room->bytes : 0) + (bounds ? bounds->bytes : 0)));
}

void StackLimits::adopt(const Change& change) noexcept {
  put(limits_[change.step], change.limits);
  put(bounds_[change.step], change.bounds);
  ++version_;
}

bool StackLimits::write(std::uint32_t slot, std::byte* order) noexcept {
  if (written_[slot] != version_) {
    std::memcpy(order + begin_, now_.data(), now_.size());
    written_[slot] = version_;
  }
  const bool others = told_ != version_;
  told_ = version_;
  return others;
}

void StackLimits::write_ahead(std::byte* order) const noexcept {
  if (!now_.empty()) std::memcpy(order + begin_, now_.data(), now_.size());
}

}  // namespace rashpa::unit::cuda
