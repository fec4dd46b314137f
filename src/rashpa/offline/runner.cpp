// SPDX-License-Identifier: Apache-2.0
#include "rashpa/offline/runner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::offline {

namespace {

constexpr std::chrono::milliseconds kLongestSleep{50};  // no thread waits for that: one with work rings

}  // namespace

Runner::Runner(const Config& config)
    : config_(config), image_bytes_(std::size_t{config.width} * config.height * pixel_bytes(config.pixel)) {
  unit::Layout layout{.width = config.width,
                      .height = config.height,
                      .input = config.pixel,
                      .stack = config.stack,
                      .stacks = config.stacks,
                      .largest_count = config.largest_count,
                      .masked = config.masked};
  if (config.unit.kind != unit::Kind::cpu) {
    image_stride_ = (image_bytes_ + kPage - 1) / kPage * kPage;
    ring_ = memory::Buffer(image_stride_ * room(), memory::MemoryKind::huge);
    layout.images = ring_.data();
    layout.image_stride = image_stride_;
  }
  unit_ = unit::make_unit(config.unit, config.pipeline, layout, bell_);
  stacks_.resize(config.stacks);
  busy_.resize(config.stacks);
  for (std::uint32_t slot = 0; slot < config.stacks; ++slot) {
    stacks_[slot].slot = slot;
    stacks_[slot].images.resize(config.stack);
  }
}

Runner::~Runner() { unit_->stop(); }

void Runner::run(const Images& images) {
  if (images.count > room()) {
    throw ConfigError(
        fmt::format("images: there are {} at once, and room for the results of {}; give fewer", images.count, room()));
  }
  process(images, nullptr);
  open_ = unit::concluded(*unit_);
}

void Runner::run(const Images& images, Taker& taker) { process(images, &taker); }

void Runner::process(const Images& images, Taker* taker) {
  for (Stack& stack : stacks_) {
    stack.count = 0;
    stack.accumulated = {};
  }
  const std::uint64_t stacks = (images.count + config_.stack - 1) / config_.stack;
  std::uint64_t submitted = 0;
  std::uint64_t decided = 0;
  std::uint64_t back = 0;
  while (decided < stacks || (taker != nullptr && back < stacks)) {
    const std::uint32_t seen = bell_.count();
    bool moved = false;
    for (; submitted < stacks; ++submitted, moved = true) {
      const auto slot = static_cast<std::uint32_t>(submitted % config_.stacks);
      if (busy_[slot]) break;
      busy_[slot] = taker != nullptr;
      fill(stacks_[slot], images, submitted);
      unit_->submit(&stacks_[slot]);
    }
    while (Stack* stack = unit_->take()) {
      ++decided;
      moved = true;
      if (taker != nullptr) taker->take(*stack);
    }
    while (Stack* stack = taker != nullptr ? taker->give_back() : nullptr) {
      busy_[stack->slot] = false;
      ++back;
      moved = true;
    }
    if (!moved) bell_.wait(seen, kLongestSleep);
  }
  if (const std::string error = unit_->error(); !error.empty()) throw StateError(error);
}

void Runner::fill(Stack& stack, const Images& images, std::uint64_t number) noexcept {
  const std::uint64_t first = number * config_.stack;
  stack.number = images.first_index / config_.stack + number;
  stack.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.stack, images.count - first));
  stack.ready_ns = now_ns();
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const std::uint64_t at = first + i;
    StackImage& image = stack.images[i];
    const std::byte* pixels = images.first + static_cast<std::ptrdiff_t>(at) * images.stride;
    image = {};
    image.index = images.first_index + at;
    image.frame_number = images.frame_number != nullptr ? images.frame_number[at] : image.index;
    image.timestamp_ns = images.timestamp_ns != nullptr ? images.timestamp_ns[at] : 0;
    image.flags = images.flags != nullptr ? images.flags[at] : 0;
    image.completeness = images.completeness != nullptr ? images.completeness[at] : Completeness::complete;
    if (images.lost_first != nullptr) {
      image.lost = images.lost + images.lost_first[at];
      image.lost_count = static_cast<std::uint32_t>(images.lost_first[at + 1] - images.lost_first[at]);
    }
    if (ring_.data() != nullptr) {
      image.raw = ring_.data() + (std::size_t{stack.slot} * config_.stack + i) * image_stride_;
      std::memcpy(image.raw, pixels, image_bytes_);
    } else {
      image.raw = const_cast<std::byte*>(pixels);  // NOLINT(cppcoreguidelines-pro-type-const-cast): units only read it
    }
  }
}

}  // namespace rashpa::offline
