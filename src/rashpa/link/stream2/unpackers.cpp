// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/unpackers.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/stream2/messages/unpack.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::size_t kAhead = 3;  // messages a thread, so that none waits for the reader
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

Unpackers::Unpackers(std::uint32_t threads, int first_processor, std::function<void()> on_done)
    : works_(kAhead * threads + 1), on_done_(std::move(on_done)) {
  try {
    for (std::uint32_t t = 0; t < threads; ++t) {
      const int processor = first_processor < 0 ? -1 : first_processor + static_cast<int>(t);
      threads_.emplace_back([this, t, processor] { run(t, processor); });
    }
  } catch (const std::system_error& error) {
    stop();
    throw ResourceError(fmt::format("stream2: a thread cannot be started: {}; allow more (ulimit -u)",
                                    errno_text(error.code().value())));
  }
}

Unpackers::~Unpackers() { stop(); }

void Unpackers::stop() noexcept {
  stop_ = true;
  bell_.ring();
  threads_.clear();  // joins
}

Unpackers::Work* Unpackers::room() noexcept {
  const std::uint64_t next = published_.load(std::memory_order_relaxed);
  return next - retired_ < works_.size() ? &at(next) : nullptr;
}

void Unpackers::publish() noexcept {
  const std::uint64_t next = published_.load(std::memory_order_relaxed);
  at(next).done.store(false, std::memory_order_relaxed);
  published_.store(next + 1, std::memory_order_seq_cst);
  bell_.ring();
}

Unpackers::Work* Unpackers::oldest() noexcept {
  if (idle()) return nullptr;
  Work& work = at(retired_);
  return work.done.load(std::memory_order_acquire) ? &work : nullptr;
}

void Unpackers::run(std::uint32_t number, int processor) noexcept {
  memory::place_this_thread(fmt::format("stream2-un{}", number), processor);
  Scratch scratch;
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::uint32_t rung = bell_.count();
    std::uint64_t next = claimed_.load(std::memory_order_relaxed);
    if (next >= published_.load(std::memory_order_acquire)) {
      bell_.wait(rung, kLook);
      continue;
    }
    if (!claimed_.compare_exchange_strong(next, next + 1)) continue;
    Work& work = at(next);
    for (Part& part : work.parts.all()) {
      const Placement& placement = part.dtp->dtp.placement;
      part.good = unpack(part.packed, placement, part.dtp->pixels + placement.image_offset(part.index), scratch);
    }
    work.done.store(true, std::memory_order_release);
    on_done_();
  }
}

}  // namespace rashpa::link::stream2
