// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the hand needs that plays a scenario: time, other processes, the log, and configurations of a scenario.
#include <cstdint>
#include <vector>

#include "checks/checking_sink.hpp"
#include "rashpa/receiver/config.hpp"
#include "scenario.hpp"
#include "world.hpp"

namespace rashpa::simulation {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr double kLookS = 0.01;
inline constexpr std::int64_t kPatienceNs = 150'000 * kMs;  ///< of any end

void sleep_until(std::int64_t ns);
/// Entries of the log become lines of the trace.
void say_logs();

/// The hand is another process while this lives: what it makes belongs to it.
class As {
 public:
  explicit As(Process process) { world::enter(process); }
  ~As() { world::enter(0); }
  As(const As&) = delete;
  As& operator=(const As&) = delete;
};

/// Looks until it is true, and tells the log meanwhile. False: it never was.
template <typename Look>
bool waited_for(const Look& look) {
  const std::int64_t until = world::now() + kPatienceNs;
  bool true_now = look();
  for (; !true_now && world::now() < until; true_now = look()) say_logs();
  return true_now;
}

/// The parts of an image, whose DTPs have ids from `first_id` on.
[[nodiscard]] std::vector<Part> parts_of(const Scenario& scenario, std::uint32_t first_id);
/// A buffer of those parts, without sinks.
[[nodiscard]] receiver::BufferConfig buffer_of(const Scenario& scenario, const std::vector<Part>& parts);
[[nodiscard]] receiver::Config receiver_of(const Scenario& scenario, receiver::BufferConfig buffer);

}  // namespace rashpa::simulation
