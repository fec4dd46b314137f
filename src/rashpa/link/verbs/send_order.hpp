// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace rashpa::link::verbs {

/// The order of posted requests in a send queue, by which one completion accounts for all requests before it. Without a
/// device; one thread, no allocation after construction.
class SendOrder {
 public:
  enum class Kind : std::uint8_t { write, event, word };
  /// Allows `depth` requests in flight; one of `signal_every` writes is signalled.
  SendOrder(std::uint32_t depth, std::uint32_t signal_every)
      : kinds_(depth, Kind::write), signal_every_(signal_every) {}

  [[nodiscard]] std::uint32_t room() const noexcept {
    return static_cast<std::uint32_t>(kinds_.size() - (posted_ - completed_));
  }
  [[nodiscard]] std::uint64_t in_flight() const noexcept { return posted_ - completed_; }
  /// The number of the next request (its wr_id). It also has whether the request asks for a completion, as each n-th
  /// write, each event and each word do.
  struct Next {
    std::uint64_t id = 0;
    bool signalled = false;
  };
  Next next(Kind kind) noexcept {
    kinds_[posted_ % kinds_.size()] = kind;
    const bool signalled = ++unsignalled_ >= signal_every_ || kind != Kind::write;
    if (signalled) unsignalled_ = 0;
    return {posted_++, signalled};
  }
  /// Removes the last `count` requests, which the device has refused. The next request asks for a completion.
  void take_back(std::uint64_t count) noexcept {
    posted_ -= count;
    unsignalled_ = signal_every_;
  }
  struct Completed {
    std::uint64_t writes = 0;
    std::uint64_t events = 0;
  };
  /// Records that request `id` and all before it are complete.
  Completed complete(std::uint64_t id) noexcept {
    Completed done;
    for (; completed_ <= id && completed_ < posted_; ++completed_) {
      const Kind kind = kinds_[completed_ % kinds_.size()];
      if (kind == Kind::write) ++done.writes;
      if (kind == Kind::event) ++done.events;
    }
    return done;
  }

 private:
  std::vector<Kind> kinds_;
  std::uint32_t signal_every_;
  std::uint32_t unsignalled_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace rashpa::link::verbs
