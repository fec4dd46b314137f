// SPDX-License-Identifier: Apache-2.0
/// Members that come later: one more, one without memory, one in place of a killed one.
#include <fmt/format.h>

#include <new>

#include "group_player.hpp"
#include "memory.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::simulation {

namespace {

/// The hand's memory fails while this lives.
class Short {
 public:
  explicit Short(std::uint64_t allocations) { memory::fail_at(allocations); }
  ~Short() { memory::fail_at(0); }
  Short(const Short&) = delete;
  Short& operator=(const Short&) = delete;
};

}  // namespace

// Where all is over it cannot be one any more.
void GroupPlayer::seat(Member& member) {
  std::vector<link::Endpoint> ends;
  try {
    const As process(kEmulator);
    ends = emulator_->join(kGroup, member_config(member), sources_of(member));
  } catch (const StateError&) {
    return leave(member);
  }
  feed(member, ends);
}

void GroupPlayer::leave(Member& latest) {
  const As process(latest.process);
  members_.pop_back();
}

void GroupPlayer::feed(Member& member, const std::vector<link::Endpoint>& ends) {
  const As process(member.process);
  member.receiver->arm(ends);
  member.receiver->start();
  emulator_->groups()->feed(kGroup, member.name, true);
  member.seated = member.fed = true;
}

void GroupPlayer::join() {
  Member& member = make_member();
  member.seated = member.fed = false;
  seat(member);
}

// The emulator has no memory for it, at one place after the other: there is no seat then, and it may come again.
void GroupPlayer::join_with_little(std::uint64_t allocations) {
  constexpr std::uint64_t kTries = 12;
  Member& member = make_member();
  member.seated = member.fed = false;
  const emulator::GroupMember wanted = member_config(member);
  const std::vector<emulator::SourceDtp> sources = sources_of(member);
  const std::size_t before = dealer().status().members.size();
  for (std::uint64_t nth = allocations; nth < allocations + kTries; ++nth) {
    try {
      std::vector<link::Endpoint> ends;
      {
        const As process(kEmulator);
        const Short of_memory(nth);
        ends = emulator_->join(kGroup, wanted, sources);
      }
      return feed(member, ends);
    } catch (const std::bad_alloc&) {
      world::trace(fmt::format("its allocation {} fails", nth));
    } catch (const ResourceError& error) {
      world::trace(fmt::format("its allocation {} fails: {}", nth, error.what()));
    } catch (const StateError&) {
      return leave(member);
    }
    if (dealer().status().members.size() != before) return wrong("a member that could not join has a seat");
  }
  seat(member);
}

// Its supervisor starts it again at the same port. Nobody has noticed yet, and images go on to the queue pairs of the
// killed one. It is another member then, as the old name has images of its own.
bool GroupPlayer::restart(Member& old, std::int64_t ns) {
  if (!old.alive() || old.finished || old.lost) return false;
  const std::uint16_t port = old.destinations.front().port;
  world::kill(old.process);
  network()->close_all(old.process);
  Member& again = make_member(port);
  again.seated = again.fed = false;
  sleep_until(world::now() + ns);
  give_up(old);
  if (over()) {
    leave(again);
    return true;
  }
  emulator::GroupMember same = member_config(again);
  same.name = old.name;
  try {
    const As process(kEmulator);
    static_cast<void>(emulator_->join(kGroup, same, sources_of(again)));
    wrong(fmt::format("{} joins as {} again, whose images are others", again.name, old.name));
  } catch (const ConfigError&) {
    seat(again);
  } catch (const StateError&) {
    seat(again);
  }
  return true;
}

}  // namespace rashpa::simulation
