// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A run that is tried: all of it drawn from the seed, and made simpler by the names of what it goes without.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "disk.hpp"
#include "network.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/transfer/dtp_source.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::simulation {

enum class Deed : std::uint8_t {
  freeze_source,    ///< SIGSTOP for `ns`
  freeze_receiver,  ///< the same
  part,             ///< the network lets nothing through for `ns`
  pause,            ///< for `ns`, then it goes on; the receiver's deadlines are held
  pace,             ///< another rate
  end_here,         ///< pauses, and the run is told its end
  stop,             ///< the source ends, then the receiver
  abort,            ///< the receiver ends, then the source
  kill_source,      ///< SIGKILL; the receiver is told to finish
  jump,             ///< the machine's calendar by `ns`
  look,             ///< status of both
  // Of a group alone, of the member `who`:
  kill_member,  ///< SIGKILL; it is noticed and given up `ns` later
  give_up,      ///< by order
  revive,       ///< given up and fed again at once
  hold_member,  ///< it is not fed for `ns`
  join,         ///< one more member
  join_short,   ///< the same, whose `ns`-th allocation fails; then it comes again
  restart,      ///< SIGKILL, and the process is there again at once; it may join once `ns` have passed
  // Of one receiver with raw files:
  lose_power,  ///< of the receiver's machine
};

struct Order {
  Deed deed = Deed::look;
  std::int64_t at_ns = 0;  ///< after the start
  std::int64_t ns = 0;
  std::uint32_t who = 0;
};

/// Receivers among which images are dealt.
struct GroupShape {
  std::uint32_t members = 2;
  std::uint32_t response_ms = 100;
  std::uint64_t replay_frames = 1000;
};

/// How a sink of the run behaves that looks at what it is given.
struct SinkHabit {
  std::int64_t put_ns = 0;  ///< of a stack, at most
  double lazy = 0;          ///< of a stack that takes `lazy_ns`
  std::int64_t lazy_ns = 0;
  bool drops = false;
  std::uint32_t queue = 4;  ///< stacks
};

/// Files of the sink `hdf5`, on the disk of raw ones.
struct Hdf5Shape {
  std::uint32_t images_per_file = 1000, threads = 1;
  std::uint32_t series_images = 0;  ///< 0: one run of files
  bool replaces = false;            ///< what is there, which is nothing
};

struct Scenario {
  std::uint64_t seed = 0;
  std::uint32_t modules = 1, bands = 1, width = 32, height = 4;
  std::uint32_t emulators = 1;
  std::uint64_t frames = 20;
  std::uint32_t stack = 2, slots = 8;
  std::uint64_t every = 1, phase = 0;
  std::uint32_t link_threads = 1;
  double rate_hz = 0;
  std::int64_t deadline_ms = 200;
  link::Flow flow = link::Flow::credits;
  transfer::OnFull on_full = transfer::OnFull::pause;
  link::roce::Options roce{};
  NetworkFaults network{};
  std::vector<SinkHabit> sinks{};
  bool raw = false;
  std::uint32_t raw_images = 1000, raw_in_flight = 16;  ///< of a file; writes at a time
  std::optional<Hdf5Shape> hdf5{};                      ///< in place of raw files
  disk::Faults disk{};
  unit::PartialPolicy partial = unit::PartialPolicy::keep;
  std::vector<Order> orders{};
  std::optional<GroupShape> group{};  ///< none: one receiver has all images

  [[nodiscard]] bool has(Deed deed) const noexcept;
  /// Nothing goes wrong, and nobody is slow.
  [[nodiscard]] bool calm() const noexcept;
  [[nodiscard]] std::string describe() const;
};

/// `without`: names of shrink_names() that it goes without.
Scenario draw(std::uint64_t seed, const std::set<std::string>& without);
/// All that a scenario can go without, the largest first.
const std::vector<std::string>& shrink_names();
[[nodiscard]] std::string_view name_of(Deed deed) noexcept;

}  // namespace rashpa::simulation
