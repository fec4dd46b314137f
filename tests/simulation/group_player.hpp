// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plays a scenario of a group: its members and their emulator, the orders of a manager, and the checks at the end.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/checking_sink.hpp"
#include "hand.hpp"
#include "network.hpp"
#include "play.hpp"
#include "rashpa/core/books/books.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/emulator/groups.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "scenario.hpp"
#include "world.hpp"

namespace rashpa::simulation {

inline constexpr Process kEmulator = 2;
inline constexpr Process kFirstMember = 10;
inline constexpr const char* kGroup = "farm";
inline constexpr std::int64_t kHeardNs = 20'000 * kMs;

struct Member {
  Process process = 0;
  std::string name;
  std::vector<Part> parts;
  std::vector<std::unique_ptr<Findings>> found;
  std::unique_ptr<receiver::Receiver> receiver;
  std::vector<link::Endpoint> destinations;
  std::optional<std::int64_t> noticed_ns;  // killed, and known to be so from then on
  std::uint64_t done = 0;                  // lost: images that its credits had proven
  bool lost = false;                       // the run goes on without it
  bool seated = true;                      // the emulator knows it
  bool fed = true;                         // by order
  bool finished = false;
  [[nodiscard]] bool alive() const { return !world::killed(process); }
};

class GroupPlayer {
 public:
  explicit GroupPlayer(const Scenario& scenario) : scenario_(scenario), slice_{scenario.every, scenario.phase} {}

  Result run();

 private:
  void wrong(std::string text) { result_.wrong.push_back(std::move(text)); }
  void set_up();
  /// `port`: of its first thread; 0: any.
  Member& make_member(std::uint16_t port = 0);
  [[nodiscard]] emulator::GroupMember member_config(const Member& member) const;
  [[nodiscard]] std::vector<emulator::SourceDtp> sources_of(const Member& member) const;
  void go();
  template <typename Look>
  bool tend(const Look& look);
  bool perform(const Order& order);
  void notice();
  void give_up(Member& member);
  void pause_for(std::int64_t ns, double rate_hz);
  void join();
  void join_with_little(std::uint64_t allocations);
  void seat(Member& member);
  void leave(Member& latest);
  void feed(Member& member, const std::vector<link::Endpoint>& ends);
  bool restart(Member& old, std::int64_t ns);
  void settle();
  void stop_turn(const std::vector<Member*>& chosen);
  void end_now();
  void check();
  void check_member(Member& member);
  void check_group();
  void check_failure(const std::string& error);
  void check_images(const transfer::GroupStatus& status);
  [[nodiscard]] bool whole(const Member& member, std::uint64_t index) const;
  [[nodiscard]] bool excused(const Member& member, std::uint64_t index) const;
  void take_down();
  [[nodiscard]] const transfer::Dealer& dealer() const { return emulator_->groups()->at(0); }
  [[nodiscard]] std::string error() const { return emulator_->groups()->error(); }
  [[nodiscard]] bool over() const { return ended_ || !error().empty(); }

  const Scenario& scenario_;
  Slice slice_;
  Result result_;
  std::shared_ptr<const dataset::Dataset> dataset_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<emulator::Emulator> emulator_;
  std::vector<std::vector<Completeness>> fates_;   // by member
  std::vector<std::vector<const PathLog*>> logs_;  // by member and DTP
  std::vector<std::vector<std::uint64_t>> dealt_;  // by member: images of the slice
  std::size_t next_order_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t disturbed_ns_ = 0;
  std::int64_t disturbed_until_ns_ = 0;  // by the latest order that has an end
  bool settling_ = false;
  bool ended_ = false;  // by an order, or because nobody is left
  bool nobody_left_ = false;
};

}  // namespace rashpa::simulation
