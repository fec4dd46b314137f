// SPDX-License-Identifier: Apache-2.0
#include "group_play.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "group_player.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/running_clock.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"

namespace rashpa::simulation {

Result GroupPlayer::run() {
  try {
    set_up();
    go();
    check();
    take_down();
  } catch (const std::exception& error) {
    wrong(fmt::format("nobody expected: {}", error.what()));
  }
  say_logs();
  result_.digest = world::digest();
  result_.switches = world::switches();
  return result_;
}

void GroupPlayer::set_up() {
  dataset_ =
      dataset::make_pattern({scenario_.width, scenario_.height, PixelType::u16}, scenario_.modules, scenario_.frames);
  for (std::uint32_t m = 0; m < scenario_.group->members; ++m) make_member();
  const As emulator(kEmulator);
  emulator::Config config;
  config.dataset = dataset_;
  config.link = scenario_.roce;
  config.frames = scenario_.frames;
  config.rate_hz = scenario_.rate_hz;
  config.flow = scenario_.flow;
  config.on_full = scenario_.on_full;
  emulator::Group group{.name = kGroup,
                        .replay_frames = scenario_.group->replay_frames,
                        .response_ms = scenario_.group->response_ms,
                        .members = {}};
  for (const auto& member : members_) {
    group.members.push_back(member_config(*member));
    for (emulator::SourceDtp& dtp : sources_of(*member)) config.dtps.push_back(std::move(dtp));
  }
  config.groups.push_back(std::move(group));
  emulator_ = std::make_unique<emulator::Emulator>(config);
  auto ends = emulator_->endpoints();
  for (const auto& member : members_) {
    const auto last = ends.begin() + static_cast<std::ptrdiff_t>(member->parts.size());
    member->receiver->arm({ends.begin(), last});
    ends.erase(ends.begin(), last);
  }
}

Member& GroupPlayer::make_member(std::uint16_t port) {
  const auto number = static_cast<std::uint32_t>(members_.size());
  members_.push_back(std::make_unique<Member>());
  Member& member = *members_.back();
  member.process = kFirstMember + static_cast<Process>(number);
  member.name = fmt::format("m{}", number);
  member.parts = parts_of(scenario_, number * scenario_.modules * scenario_.bands);
  const As process(member.process);
  receiver::BufferConfig buffer = buffer_of(scenario_, member.parts);
  buffer.end = End::told;
  buffer.dealt = true;
  for (const SinkHabit& habit : scenario_.sinks) {
    member.found.push_back(std::make_unique<Findings>());
    Findings& found = *member.found.back();
    const std::uint64_t seed = member.found.size() + 10ULL * number;
    receiver::SinkConfig sink([this, &found, &member, habit, seed](const receiver::Output&) {
      return std::make_unique<CheckingSink>(scenario_, habit, seed, dataset_, member.parts, found, true);
    });
    sink.name = "checks";
    if (habit.drops) sink.on_full = receiver::OnFull::drop;
    sink.queue = habit.queue;
    buffer.sinks.push_back(std::move(sink));
  }
  receiver::Config config = receiver_of(scenario_, std::move(buffer));
  config.port = port;
  member.receiver = std::make_unique<receiver::Receiver>(config);
  member.destinations = member.receiver->endpoints();
  return member;
}

emulator::GroupMember GroupPlayer::member_config(const Member& member) const {
  emulator::GroupMember config{.name = member.name, .stack = scenario_.stack, .dtps = {}};
  for (const Part& part : member.parts) config.dtps.push_back(part.id);
  return config;
}

std::vector<emulator::SourceDtp> GroupPlayer::sources_of(const Member& member) const {
  std::vector<emulator::SourceDtp> dtps;
  for (std::size_t place = 0; place < member.parts.size(); ++place) {
    const Part& part = member.parts[place];
    dtps.push_back({{.id = part.id,
                     .module = part.module,
                     .region = {0, part.first, scenario_.width, part.lines},
                     .slice = slice_,
                     .images = slice_.images(scenario_.frames),
                     .placement = member.receiver->placements()[place],
                     .run = 7},
                    member.destinations[place]});
  }
  return dtps;
}

void GroupPlayer::go() {
  for (const auto& member : members_) {
    const As process(member->process);
    member->receiver->start();
  }
  begun_ns_ = world::now();
  {
    const As process(kEmulator);
    emulator_->start();
  }
  settle();
}

// Waits until it is true, and does meanwhile what is due. False: the run is over.
template <typename Look>
bool GroupPlayer::tend(const Look& look) {
  const std::int64_t until = world::now() + kPatienceNs;
  while (!over() && world::now() < until) {
    if (look()) return true;
    notice();
    if (next_order_ < scenario_.orders.size() && world::now() >= begun_ns_ + scenario_.orders[next_order_].at_ns) {
      const Order& order = scenario_.orders[next_order_++];
      world::trace(fmt::format("order: {} {} ({:.3f} ms)", name_of(order.deed), order.who,
                               static_cast<double>(order.ns) * 1e-6));
      if (!perform(order)) world::trace("which cannot be now");
    } else {
      sleep_until(world::now() + kMs);
    }
    say_logs();
  }
  if (!over()) {
    wrong("the group does not come to its end:\n" + world::describe());
    ended_ = true;
  }
  return false;
}

// False: it cannot be given now.
bool GroupPlayer::perform(const Order& order) {
  Member& who = *members_[order.who];
  emulator::Groups& groups = *emulator_->groups();
  switch (order.deed) {
    case Deed::freeze_source:
      world::freeze(kEmulator, world::now() + order.ns);
      disturbed_until_ns_ = std::max(disturbed_until_ns_, world::now() + order.ns);
      disturbed_ns_ += order.ns;
      return true;
    case Deed::freeze_receiver:
      world::freeze(who.process, world::now() + order.ns);
      disturbed_until_ns_ = std::max(disturbed_until_ns_, world::now() + order.ns);
      disturbed_ns_ += std::min(order.ns, RunningClock::kLongestStepNs);
      return true;
    case Deed::part:
      network()->parted_until = world::now() + order.ns;
      disturbed_until_ns_ = std::max(disturbed_until_ns_, world::now() + order.ns);
      disturbed_ns_ += order.ns;
      return true;
    case Deed::pause:
      if (settling_) return false;
      pause_for(order.ns, 0);
      return true;
    case Deed::pace:
      if (settling_ || scenario_.rate_hz == 0) return false;
      pause_for(0, 100.0 + static_cast<double>(order.ns % 4000));
      return true;
    case Deed::stop:
    case Deed::abort:
      ended_ = true;
      return true;
    case Deed::jump:
      world::jump_wall(order.ns);
      return true;
    case Deed::kill_member:
      if (!who.alive() || who.finished) return false;
      world::kill(who.process);
      network()->close_all(who.process);
      who.noticed_ns = world::now() + order.ns;
      return true;
    case Deed::give_up:
      if (who.lost || who.finished || settling_) return false;
      groups.eject(kGroup, who.name, 0);
      who.fed = false;
      disturbed_ns_ += order.ns;
      return true;
    case Deed::revive:
      if (who.lost || who.finished || settling_) return false;
      groups.eject(kGroup, who.name, 0);
      groups.feed(kGroup, who.name, true);
      who.fed = true;
      return true;
    case Deed::hold_member:
      if (who.lost || who.finished || settling_ || !who.fed) return false;
      groups.feed(kGroup, who.name, false);
      sleep_until(world::now() + order.ns);
      groups.feed(kGroup, who.name, true);
      return true;
    case Deed::join:
      if (settling_ || members_.size() > 8) return false;
      join();
      return true;
    case Deed::join_short:
      if (settling_ || members_.size() > 8) return false;
      join_with_little(static_cast<std::uint64_t>(order.ns));
      return true;
    case Deed::restart:
      if (settling_ || members_.size() > 8) return false;
      return restart(who, order.ns);
    default:
      for (const auto& member : members_) {
        if (member->alive()) static_cast<void>(member->receiver->status());
      }
      static_cast<void>(emulator_->status());
      return true;
  }
}

// The manager finds that a process has ended.
void GroupPlayer::notice() {
  for (const auto& member : members_) {
    if (!member->lost && member->noticed_ns && world::now() >= *member->noticed_ns) give_up(*member);
  }
}

void GroupPlayer::give_up(Member& member) {
  member.lost = true;
  const bool left =
      std::any_of(members_.begin(), members_.end(), [](const auto& one) { return one->seated && !one->lost; });
  if (!left) {
    nobody_left_ = ended_ = true;
    return;
  }
  const auto number = static_cast<std::size_t>(member.process - kFirstMember);
  const std::uint64_t heard = dealer().status().members[number].done;
  emulator_->groups()->eject(kGroup, member.name, heard);
  member.done = std::max(heard, dealer().status().members[number].done);
}

void GroupPlayer::pause_for(std::int64_t ns, double rate_hz) {
  for (const auto& member : members_) {
    if (member->alive()) member->receiver->hold_deadlines(true);
  }
  emulator_->pause();
  sleep_until(world::now() + ns);
  emulator_->resume(rate_hz);
  for (const auto& member : members_) {
    if (member->alive()) member->receiver->hold_deadlines(false);
  }
}

// As the manager does: the members that owe images are stopped in turn, the rest together.
void GroupPlayer::settle() {
  std::vector<Member*> left;
  do {
    if (!tend([&] { return dealer().settled(); })) break;
    settling_ = true;
    left.clear();
    const transfer::GroupStatus status = dealer().status();
    std::vector<Member*> chosen;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (members_[m]->lost || members_[m]->finished) continue;
      left.push_back(members_[m].get());
      if (chosen.empty() && status.members[m].dealt > status.members[m].done) chosen.push_back(members_[m].get());
    }
    if (chosen.empty()) chosen = left;
    stop_turn(chosen);
  } while (!left.empty() && !over());
  if (over()) end_now();
  emulator_->stop();
}

void GroupPlayer::stop_turn(const std::vector<Member*>& chosen) {
  for (Member* const member : chosen) emulator_->groups()->feed(kGroup, member->name, false);
  const transfer::GroupStatus status = dealer().status();
  for (Member* const member : chosen) {
    if (!member->alive()) {
      give_up(*member);
      continue;
    }
    std::vector<receiver::DtpEnd> ends;
    for (const Part& part : member->parts) {
      ends.push_back(
          {.id = part.id, .images = status.members[static_cast<std::size_t>(member->process - kFirstMember)].dealt});
    }
    member->receiver->finish(ends);
  }
  tend([&] {
    return std::all_of(chosen.begin(), chosen.end(), [](Member* member) {
      member->finished = member->finished || (member->alive() && member->receiver->wait(0));
      return member->finished || member->lost;
    });
  });
}

// Nothing more is to come of it.
void GroupPlayer::end_now() {
  for (const auto& member : members_) {
    if (member->alive()) member->receiver->stop();
  }
}

void GroupPlayer::take_down() {
  bool killed = false;
  for (const auto& member : members_) {
    if (member->alive()) {
      member->receiver.reset();
    } else {
      killed = true;
      static_cast<void>(member->receiver.release());  // its threads are in it for ever
    }
  }
  emulator_.reset();
  if (world::threads() != 1) wrong("threads are left:\n" + world::describe());
  if (!killed && network()->sockets() != 0) wrong(fmt::format("{} sockets are left", network()->sockets()));
}

Result play_group(const Scenario& scenario) { return GroupPlayer(scenario).run(); }

}  // namespace rashpa::simulation
