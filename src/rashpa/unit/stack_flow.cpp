// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/stack_flow.hpp"

#include <utility>

#include "rashpa/core/time/clock.hpp"

namespace rashpa::unit {

StackFlow::StackFlow(const Steps& steps, std::uint32_t stack, std::uint32_t stacks, std::string name,
                     Doorbell& done_bell)
    : steps_(steps),
      stack_(stack),
      name_(std::move(name)),
      done_bell_(done_bell),
      asked_(std::size_t{stacks} * stack),
      in_(stacks),
      out_(stacks) {}

void StackFlow::settle(Stack& stack, bool ended) noexcept {
  const std::span<std::uint8_t> work = asked(stack);
  for (std::uint32_t i = 0; i < stack.count; ++i) work[i] = settle_without_work(steps_, ended, stack.images[i]) ? 0 : 1;
}

void StackFlow::pass_on(Stack* stack) noexcept {
  in_.push_must(stack);
  submitted_.ring();
}

Stack* StackFlow::take() noexcept {
  Stack* stack = nullptr;
  return out_.try_pop(stack) ? stack : nullptr;
}

Stack* StackFlow::begin() noexcept {
  Stack* stack = nullptr;
  return in_.try_pop(stack) ? stack : nullptr;
}

void StackFlow::hand_back(Stack& stack, bool lost) noexcept {
  const std::span<const std::uint8_t> work = asked(stack);
  for (std::uint32_t i = 0; i < stack.count && lost; ++i) {
    if (work[i] == 0) continue;
    StackImage& image = stack.images[i];
    image.decision = Decision::errored;
    image.reason = VetoReason::none;
    image.pixels = nullptr;
    image.sparse = {};
    image.tables = {};
    image.profiles = {};
  }
  if (lost) stack.decided_ns = now_ns();
  out_.push_must(&stack);
  done_bell_.ring();
}

void StackFlow::fail(const std::string& why) noexcept {
  const std::lock_guard lock(error_lock_);
  if (failed()) return;
  error_ = name_ + why;
  failed_.store(true, std::memory_order_release);
}

std::string StackFlow::error() const {
  if (!failed()) return {};
  const std::lock_guard lock(error_lock_);
  return error_;
}

void StackFlow::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  wake();
}

}  // namespace rashpa::unit
