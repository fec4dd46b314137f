// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The groups of receivers among which an emulator deals images. Each group has a dealer with its own thread.
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

/// The groups of receivers among which an emulator deals images, with their dealers. One thread at a time may set up,
/// join and end; any thread may call the rest.
class Groups {
 public:
  /// Makes a dealer for each group. Throws ConfigError for a group that cannot be dealt to: its DTPs differ, or its
  /// flow control has no credits.
  explicit Groups(const Config& config);
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  /// Adds a member with the DTPs `dtps` to a group; it gets no images until feed(). Throws ConfigError when it does not
  /// fit the group.
  void join(std::string_view group, const GroupMember& member, std::span<const SourceDtp> dtps);
  /// Removes the member that joined the group last. It must never have been fed, and nobody may use its ports any more.
  void withdraw(std::string_view group, const GroupMember& member);
  /// Returns the port of the DTP with that id; null when its images are not dealt.
  [[nodiscard]] transfer::Dealer::Port* port(std::uint32_t id) const noexcept;
  void start(std::int64_t start_ns);
  /// Calls the function of the same name on all dealers: transfer/dealer.hpp.
  void hold(std::uint64_t frame) noexcept;
  void set_pace(const transfer::Pace& pace) noexcept;
  /// Returns a lower bound of the number of frames begun, over the groups that still deal new images.
  [[nodiscard]] std::uint64_t begun() const noexcept;
  void stop() noexcept;
  /// Returns true when all groups are settled.
  [[nodiscard]] bool settled() const noexcept;
  /// Returns why a group ended early; empty when none did.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] std::size_t size() const noexcept { return dealers_.size(); }
  [[nodiscard]] const transfer::Dealer& at(std::size_t group) const noexcept { return *dealers_[group]; }

  /// Carries out an order (transfer/dealer.hpp) on the named group and member. Throws ConfigError when there is no such
  /// group or member.
  void eject(std::string_view group, std::string_view member, std::uint64_t image);
  void feed(std::string_view group, std::string_view member, bool fed);
  /// Returns the frames that a member was given, in order.
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
