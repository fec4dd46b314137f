// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rashpa/core/error.hpp"

namespace rashpa::emulator {

namespace {

[[noreturn]] void refuse(std::string_view group, const std::string& what) {
  throw ConfigError(fmt::format("emulator: group {}: {}", group, what));
}

const transfer::Dtp& dtp_of(std::span<const SourceDtp> dtps, std::string_view group, std::uint32_t id) {
  const auto found = std::find_if(dtps.begin(), dtps.end(), [&](const SourceDtp& one) { return one.dtp.id == id; });
  if (found == dtps.end()) refuse(group, fmt::format("there is no DTP {}; give one of the detector's", id));
  return found->dtp;
}

transfer::MemberConfig member_config(std::span<const SourceDtp> dtps, std::string_view group, const GroupMember& member,
                                     const Slice& slice, std::uint64_t images) {
  if (member.dtps.empty()) refuse(group, fmt::format("no DTP goes to member {}; give it at least one", member.name));
  const std::uint32_t slots = dtp_of(dtps, group, member.dtps.front()).placement.slots;
  for (const std::uint32_t id : member.dtps) {
    const transfer::Dtp& dtp = dtp_of(dtps, group, id);
    if (dtp.slice != slice || dtp.images != images || dtp.placement.slots != slots)
      refuse(group,
             fmt::format("DTP {} has another time slice or ring than the others of {}; give all of them the same", id,
                         member.name));
  }
  return {.name = member.name,
          .slots = slots,
          .stack = member.stack,
          .dtps = static_cast<std::uint32_t>(member.dtps.size())};
}

transfer::DealerConfig dealer_config(const Config& config, const Group& group) {
  if (config.flow != link::Flow::credits) refuse(group.name, "images are dealt by credits; use flow credits");
  if (!config.faults.dead_modules.empty())
    refuse(group.name, "images without their dead modules cannot be dealt; leave dead_modules out");
  if (group.members.empty() || group.members.front().dtps.empty())
    refuse(group.name, "it has no members; name at least one");
  const transfer::Dtp& first = dtp_of(config.dtps, group.name, group.members.front().dtps.front());
  transfer::DealerConfig out{.name = group.name,
                             .slice = first.slice,
                             .images = first.images,
                             .members = {},
                             .replay_frames = group.replay_frames,
                             .response_ns = static_cast<std::int64_t>(group.response_ms) * 1'000'000,
                             .rate_hz = config.rate_hz,
                             .times = config.times.get(),
                             .skip = config.on_full == transfer::OnFull::skip,
                             .run = first.run};
  for (const GroupMember& member : group.members)
    out.members.push_back(member_config(config.dtps, group.name, member, first.slice, first.images));
  return out;
}

}  // namespace

Groups::Groups(const Config& config) {
  for (const Group& group : config.groups) {
    dealers_.push_back(std::make_unique<transfer::Dealer>(dealer_config(config, group)));
    for (std::size_t number = 0; number < group.members.size(); ++number)
      take_seats(group.name, *dealers_.back(), number, group.members[number]);
  }
}

void Groups::take_seats(const std::string& group, transfer::Dealer& dealer, std::size_t number,
                        const GroupMember& member) {
  const std::unique_lock lock(seating_);
  for (std::size_t dtp = 0; dtp < member.dtps.size(); ++dtp) {
    if (!ports_.emplace(member.dtps[dtp], &dealer.port(number, dtp)).second)
      refuse(group, fmt::format("DTP {} belongs to two members; give it to one", member.dtps[dtp]));
  }
}

void Groups::join(std::string_view group, const GroupMember& member, std::span<const SourceDtp> dtps) {
  transfer::Dealer& joined = dealer(group);
  const std::set<std::uint32_t> ids(member.dtps.begin(), member.dtps.end());
  if (ids.size() != dtps.size() || ids.size() != member.dtps.size())
    refuse(group, fmt::format("{} joins with {} DTPs, and {} are named; name each once", member.name, dtps.size(),
                              ids.size()));
  for (const std::uint32_t id : member.dtps) {
    if (port(id) != nullptr) refuse(group, fmt::format("DTP {} belongs to another member; name others", id));
  }
  const transfer::DealerConfig& known = joined.config();
  const std::size_t number = joined.join(member_config(dtps, group, member, known.slice, known.images));
  try {
    take_seats(known.name, joined, number, member);
  } catch (...) {  // no memory: a seat that nobody takes would keep its name, and hope
    withdraw(group, member);
    throw;
  }
}

void Groups::withdraw(std::string_view group, const GroupMember& member) {
  {
    const std::unique_lock lock(seating_);
    for (const std::uint32_t id : member.dtps) ports_.erase(id);
  }
  dealer(group).withdraw();
}

Groups::~Groups() { stop(); }

transfer::Dealer::Port* Groups::port(std::uint32_t id) const noexcept {
  const std::shared_lock lock(seating_);
  const auto found = ports_.find(id);
  return found == ports_.end() ? nullptr : found->second;
}

void Groups::start(std::int64_t start_ns) {
  for (auto& dealer : dealers_) {
    threads_.emplace_back([&dealer, start_ns](const std::stop_token& stop) { dealer->run(stop, start_ns); });
  }
}

void Groups::hold(std::uint64_t frame) noexcept {
  for (auto& dealer : dealers_) dealer->hold(frame);
}

void Groups::set_pace(const transfer::Pace& pace) noexcept {
  for (auto& dealer : dealers_) dealer->set_pace(pace);
}

std::uint64_t Groups::begun() const noexcept {
  std::uint64_t frames = 0;
  for (const auto& dealer : dealers_) {
    const std::uint64_t begun = dealer->begun();
    if (begun <= dealer->config().slice.frame(dealer->config().images - 1)) frames = std::max(frames, begun);
  }
  return frames;
}

void Groups::stop() noexcept {
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool Groups::settled() const noexcept {
  return std::all_of(dealers_.begin(), dealers_.end(), [](const auto& dealer) { return dealer->settled(); });
}

std::string Groups::error() const {
  for (const auto& dealer : dealers_) {
    if (dealer->failed()) return dealer->status().error;
  }
  return {};
}

transfer::Dealer& Groups::dealer(std::string_view group) const {
  for (const auto& dealer : dealers_) {
    if (dealer->config().name == group) return *dealer;
  }
  throw ConfigError(fmt::format("emulator: there is no group {}; give the name of a group of the run", group));
}

Groups::Seat Groups::find(std::string_view group, std::string_view member) const {
  transfer::Dealer& found = dealer(group);
  if (const auto number = found.find(member)) return {&found, *number};
  throw ConfigError(
      fmt::format("emulator: group {1} has no member {0}; give the name of one of its members", member, group));
}

void Groups::eject(std::string_view group, std::string_view member, std::uint64_t image) {
  const Seat seat = find(group, member);
  seat.dealer->eject(seat.member, image);
}

void Groups::feed(std::string_view group, std::string_view member, bool fed) {
  const Seat seat = find(group, member);
  seat.dealer->feed(seat.member, fed);
}

std::vector<std::uint64_t> Groups::dealt(std::string_view group, std::string_view member) const {
  const Seat seat = find(group, member);
  return seat.dealer->dealt(seat.member);
}

}  // namespace rashpa::emulator
