// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"

namespace rashpa::emulator {

namespace {

[[noreturn]] void refuse(const Group& group, const std::string& what) {
  throw ConfigError(fmt::format("emulator: group {}: {}", group.name, what));
}

const transfer::Dtp& dtp_of(const Config& config, const Group& group, std::uint32_t id) {
  const auto found = std::find_if(config.dtps.begin(), config.dtps.end(),
                                  [&](const SourceDtp& source) { return source.dtp.id == id; });
  if (found == config.dtps.end()) refuse(group, fmt::format("there is no DTP {}", id));
  return found->dtp;
}

transfer::DealerConfig dealer_config(const Config& config, const Group& group) {
  if (config.flow != link::Flow::credits) refuse(group, "images are dealt by credits; use flow credits");
  if (!config.faults.dead_modules.empty()) refuse(group, "images without their dead modules cannot be dealt");
  if (group.members.empty() || group.members.front().dtps.empty()) refuse(group, "it has no members");
  const transfer::Dtp& first = dtp_of(config, group, group.members.front().dtps.front());
  transfer::DealerConfig out{.name = group.name,
                             .slice = first.slice,
                             .images = first.images,
                             .members = {},
                             .replay_frames = group.replay_frames,
                             .response_ns = static_cast<std::int64_t>(group.response_ms) * 1'000'000,
                             .rate_hz = config.rate_hz,
                             .skip = config.on_full == transfer::OnFull::skip,
                             .run = first.run};
  for (const GroupMember& member : group.members) {
    if (member.dtps.empty()) refuse(group, fmt::format("no DTP goes to member {}", member.name));
    const std::uint32_t slots = dtp_of(config, group, member.dtps.front()).placement.slots;
    for (const std::uint32_t id : member.dtps) {
      const transfer::Dtp& dtp = dtp_of(config, group, id);
      if (dtp.slice != first.slice || dtp.images != first.images || dtp.placement.slots != slots) {
        refuse(group, fmt::format("DTP {} has another time slice or ring than the others of {}", id, member.name));
      }
    }
    out.members.push_back({.name = member.name,
                           .slots = slots,
                           .stack = member.stack,
                           .dtps = static_cast<std::uint32_t>(member.dtps.size())});
  }
  return out;
}

}  // namespace

Groups::Groups(const Config& config) {
  for (const Group& group : config.groups) {
    dealers_.push_back(std::make_unique<transfer::Dealer>(dealer_config(config, group)));
    for (std::size_t member = 0; member < group.members.size(); ++member) {
      for (std::size_t dtp = 0; dtp < group.members[member].dtps.size(); ++dtp) {
        const std::uint32_t id = group.members[member].dtps[dtp];
        if (!ports_.emplace(id, &dealers_.back()->port(member, dtp)).second)
          refuse(group, fmt::format("DTP {} belongs to two members", id));
      }
    }
  }
}

Groups::~Groups() { stop(); }

transfer::Dealer::Port* Groups::port(std::uint32_t id) const noexcept {
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

Groups::Seat Groups::find(std::string_view group, std::string_view member) const {
  for (const auto& dealer : dealers_) {
    if (dealer->config().name != group) continue;
    const auto& members = dealer->config().members;
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.name == member; });
    if (found != members.end()) return {dealer.get(), static_cast<std::size_t>(found - members.begin())};
  }
  throw ConfigError(fmt::format("emulator: there is no member {} of a group {}", member, group));
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
