// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/core/log.hpp"

namespace rashpa::emulator {

/// Logs when DTPs of a card wait long for credits, and when they resume. One thread.
class CreditWatch {
 public:
  static constexpr std::int64_t kStarvedNs = 1'000'000'000;  ///< time without credits before a log message

  explicit CreditWatch(std::size_t dtps) : dtps_(dtps) {}

  /// Checks the DTPs at time `now`. Bit n of `waiting` is set while DTP n waits; `where(n)` returns the subject of its
  /// log messages.
  template <typename Where>
  void look(std::uint32_t waiting, std::int64_t now, const Where& where) {
    for (std::size_t place = 0; place < dtps_.size(); ++place) {
      Waiting& dtp = dtps_[place];
      if ((waiting >> place & 1U) == 0) {
        if (dtp.said) say_granted(now - dtp.since_ns, where(place));
        dtp = {};
      } else if (dtp.since_ns == 0) {
        dtp.since_ns = now;
      } else if (!dtp.said && now - dtp.since_ns > kStarvedNs) {
        say_starved(where(place));
        dtp.said = true;
      }
    }
  }

 private:
  struct Waiting {
    std::int64_t since_ns = 0;  // 0: it does not
    bool said = false;
  };
  static void say_granted(std::int64_t waited_ns, const log::Where& where) {
    log::write(log::Level::info, where, "slots are granted again, after {:.1f} s",
               static_cast<double>(waited_ns) * 1e-9);
  }
  void say_starved(const log::Where& where) {
    log::write(starved_, log::Level::warning, where,
               "no free slot was granted for {} s: the receiver is behind, or its credits do not arrive",
               kStarvedNs / 1'000'000'000);
  }
  std::vector<Waiting> dtps_;
  log::Limiter starved_;
};

}  // namespace rashpa::emulator
