// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The groups of receivers among which an emulator deals images: a dealer for each, with a thread of its own.
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rashpa/emulator/config.hpp"
#include "rashpa/transfer/dealer.hpp"

namespace rashpa::emulator {

/// Set-up, joining and end from one thread at a time, the rest from any.
class Groups {
 public:
  /// Throws ConfigError when a group cannot be dealt to: its DTPs differ, or the flow has no credits.
  explicit Groups(const Config& config);
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  /// One more member, held until it is fed; its DTPs are `dtps`. Throws ConfigError when it does not fit the group.
  void join(std::string_view group, const GroupMember& member, std::span<const SourceDtp> dtps);
  /// The last one that has joined that group, and was never fed, goes again; nothing uses its ports any more.
  void withdraw(std::string_view group, const GroupMember& member);
  /// The port of the DTP with that id; null when its images are not dealt.
  [[nodiscard]] transfer::Dealer::Port* port(std::uint32_t id) const noexcept;
  void start(std::int64_t start_ns);
  /// Calls the functions of that name on all dealers: transfer/dealer.hpp.
  void hold(std::uint64_t frame) noexcept;
  void set_pace(const transfer::Pace& pace) noexcept;
  /// A lower bound of the frames up to the latest that was due, over the groups that still deal fresh images.
  [[nodiscard]] std::uint64_t begun() const noexcept;
  void stop() noexcept;
  /// Returns true when all groups are settled.
  [[nodiscard]] bool settled() const noexcept;
  /// Returns why one of them ended before its time; empty when none did.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] std::size_t size() const noexcept { return dealers_.size(); }
  [[nodiscard]] const transfer::Dealer& at(std::size_t group) const noexcept { return *dealers_[group]; }

  /// Orders (transfer/dealer.hpp), by name; ConfigError when there is no such group or member.
  void eject(std::string_view group, std::string_view member, std::uint64_t image);
  void feed(std::string_view group, std::string_view member, bool fed);
  /// The frames that a member was given, in order.
  [[nodiscard]] std::vector<std::uint64_t> dealt(std::string_view group, std::string_view member) const;

 private:
  struct Seat {
    transfer::Dealer* dealer = nullptr;
    std::size_t member = 0;
  };
  [[nodiscard]] transfer::Dealer& dealer(std::string_view group) const;
  [[nodiscard]] Seat find(std::string_view group, std::string_view member) const;
  void take_seats(const std::string& group, transfer::Dealer& dealer, std::size_t number, const GroupMember& member);

  std::vector<std::unique_ptr<transfer::Dealer>> dealers_;
  mutable std::shared_mutex seating_;
  std::map<std::uint32_t, transfer::Dealer::Port*> ports_;  // guarded by seating_
  std::vector<std::jthread> threads_;
};

}  // namespace rashpa::emulator
