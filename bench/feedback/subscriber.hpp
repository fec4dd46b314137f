// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Who steers by what is decided, in a process of its own, for benchmarks of feedback.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rashpa::bench {

enum class Way : std::uint8_t { ring_spin, ring_sleep, zeromq, zeromq_inside };
constexpr bool speaks_zeromq(Way way) noexcept { return way == Way::zeromq || way == Way::zeromq_inside; }
std::string_view name_of(Way way) noexcept;

/// What came: from the last byte of each image until it was there, and from when it was in the ring.
struct Heard {
  std::uint64_t images = 0;
  std::uint64_t lost = 0;
  double p50_us = 0;
  double p99_us = 0;
  double from_ring_p50_us = 0;
  double from_ring_p99_us = 0;
};

/// The process that subscribes. It is made before there are threads, and told where.
class SubscriberProcess {
 public:
  /// Throws ResourceError.
  explicit SubscriberProcess(Way way);
  ~SubscriberProcess();
  SubscriberProcess(const SubscriberProcess&) = delete;
  SubscriberProcess& operator=(const SubscriberProcess&) = delete;

  /// `place`: path of a ring, or endpoint. Returns when it listens.
  void connect(const std::string& place);
  /// Until the run is over. Throws ResourceError when the process died.
  Heard wait();

 private:
  [[noreturn]] void live(Way way) noexcept;
  int to_ = -1;
  int from_ = -1;
  pid_t process_ = -1;
};

}  // namespace rashpa::bench
