// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/dealt/joined_windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rashpa::unit {

JoinedWindows::JoinedWindows(const Results& results, const Layout& layout, std::uint32_t members,
                             std::unique_ptr<Joiner> joiner)
    : facts_(results.accumulations),
      joiner_(std::move(joiner)),
      members_(members),
      stacks_(layout.stacks),
      shadows_(std::size_t{members} * layout.stacks),
      parts_(members),
      arrays_(members) {
  for (std::size_t number = 0; number < facts_.size(); ++number) {
    windows_.emplace_back(facts_[number], layout.stack, layout.stacks);
    joiner_->writes_into(number, windows_.back().memory());
  }
  for (Stack& shadow : shadows_) {
    shadow.images.resize(layout.stack);
    for (StackImage& image : shadow.images) image.completeness = Completeness::missing;
  }
}

JoinedWindows::Ending JoinedWindows::note(std::uint32_t member, const Stack& stack) noexcept {
  const Members own = Members{1} << member;
  Ending ending;
  for (std::size_t number = 0; number < windows_.size(); ++number) {
    had_[number] |= own;
    if (!windows_[number].ends_with(stack.number)) continue;
    ending.owe[number] = std::exchange(had_[number], 0);
    ending.shadows |= ending.owe[number] & ~own;
  }
  // A shadow is of all windows: it opens those that go on.
  for (std::size_t number = 0; number < windows_.size(); ++number) {
    if (ending.owe[number] == 0) had_[number] |= ending.shadows;
  }
  return ending;
}

Stack* JoinedWindows::shadow(std::uint32_t member, const Stack& stack) noexcept {
  Stack& shadow = shadows_[std::size_t{member} * stacks_ + stack.slot];
  shadow.slot = stack.slot;
  shadow.number = stack.number;
  shadow.count = stack.count;
  return &shadow;
}

AccumulatedView JoinedWindows::join_one(std::size_t number, Members owe) noexcept {
  AccumulatedView window;
  bool missing = false;
  for (std::uint32_t member = 0; member < members_; ++member) {
    arrays_[member] = {};
    if ((owe >> member & 1U) == 0) continue;
    const AccumulatedView& part = parts_[member][number];
    missing = missing || !part.ended();
    window.window = part.window;
    window.first = part.first;
    window.end = std::max(window.end, part.end);
    window.images += part.images;
    std::transform(part.values.begin(), part.values.end(), arrays_[member].begin(),
                   [](const std::byte* values) { return const_cast<std::byte*>(values); });
  }
  const kernel::AccumulatedArrays to = windows_[number].arrays_of(window.window);
  if (missing || !joiner_->join(number, arrays_, to)) {
    lost_[number].fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  std::copy(to.begin(), to.end(), window.values.begin());
  return window;
}

void JoinedWindows::join(const Ending& ending, Stack& stack) noexcept {
  for (std::size_t number = 0; number < windows_.size(); ++number) {
    stack.accumulated[number] = {};
    if (ending.owe[number] != 0) stack.accumulated[number] = join_one(number, ending.owe[number]);
  }
}

Accumulated JoinedWindows::conclude() noexcept {
  Accumulated open{};
  for (std::size_t number = 0; number < windows_.size(); ++number) {
    if (const Members owe = std::exchange(had_[number], 0); owe != 0) open[number] = join_one(number, owe);
  }
  return open;
}

std::string JoinedWindows::lost() const {
  std::string words;
  for (std::size_t number = 0; number < facts_.size(); ++number) {
    const std::uint32_t lost = lost_[number].load(std::memory_order_relaxed);
    if (lost == 0) continue;
    words += fmt::format("{}{} window{} of {} lost with what devices had added to {}", words.empty() ? "" : "; ", lost,
                         lost == 1 ? "" : "s", facts_[number].name, lost == 1 ? "it" : "them");
  }
  if (const std::string trouble = joiner_->trouble(); !trouble.empty()) {
    words += fmt::format("{}{}", words.empty() ? "" : "; ", trouble);
  }
  return words;
}

}  // namespace rashpa::unit
