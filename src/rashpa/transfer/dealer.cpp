// SPDX-License-Identifier: Apache-2.0
#include "rashpa/transfer/dealer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::transfer {

namespace {

constexpr std::int64_t kLongestSleepNs = 500'000;
constexpr std::int64_t kShortestSleepNs = 50'000;
constexpr std::size_t kMostMembers = 255;

const char* words_of(MemberState state, bool full) {
  switch (state) {
    case MemberState::fed:
      return full ? "has been given as many images as one member can be" : "is fed";
    case MemberState::held:
      return "is held by order";
    case MemberState::late:
      return "is late";
    case MemberState::ejected:
      return "is given up by order";
    case MemberState::broken:
      return "has a broken connection";
  }
  return "";
}

DealerConfig checked(DealerConfig config) {
  if (config.members.size() < 2) {
    throw ConfigError(fmt::format("group {}: {} members are not possible; deal images among 2 to {}", config.name,
                                  config.members.size(), kMostMembers));
  }
  if (config.images > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(
        fmt::format("group {}: {} images are too many to deal; use 2^32 - 1 or fewer", config.name, config.images));
  }
  return config;
}

LedgerConfig books_of(const DealerConfig& config) {
  return {.name = config.name,
          .run = config.run,
          .slice = config.slice,
          .images = config.images,
          .replay_frames = config.replay_frames};
}

}  // namespace

void Dealer::Port::report(std::uint64_t granted, std::uint64_t sent, const link::Answers& answers,
                          std::int64_t now) noexcept {
  const bool news = answers.had != had_.load(std::memory_order_relaxed);
  in_error_.store(answers.in_error, std::memory_order_relaxed);
  had_.store(answers.had, std::memory_order_relaxed);
  sent_.store(sent, std::memory_order_relaxed);
  if (answers.open == 0) {
    open_ns_.store(0, std::memory_order_relaxed);
  } else if (news || open_ns_.load(std::memory_order_relaxed) == 0) {
    open_ns_.store(now, std::memory_order_relaxed);
  }
  granted_.store(granted, std::memory_order_release);
}

std::optional<std::uint64_t> Dealer::Port::frame(std::uint64_t index) noexcept {
  if (index >= member_->dealt.load(std::memory_order_acquire)) return std::nullopt;
  if (!member_->answers.load(std::memory_order_relaxed)) return std::nullopt;
  begun_.store(index + 1, std::memory_order_release);  // the dealer's thread reads it behind credits that follow it
  return dealer_->config_.slice.frame(member_->image(index));
}

Dealer::Dealer(DealerConfig config) : config_(checked(std::move(config))), ledger_(books_of(config_)) {
  for (const MemberConfig& member : std::exchange(config_.members, {})) add(member);
}

void Dealer::add(const MemberConfig& wanted) {
  if (members_.size() == kMostMembers || find(wanted.name)) {
    throw ConfigError(
        members_.size() == kMostMembers
            ? fmt::format("group {}: it has {} members, which is the most; stop one first", config_.name, kMostMembers)
            : fmt::format("group {}: {} is already a member; give another name", config_.name, wanted.name));
  }
  if (wanted.slots == 0 || wanted.stack == 0 || wanted.slots % wanted.stack != 0 || wanted.dtps == 0) {
    throw ConfigError(fmt::format(
        "group {}: member {} has {} slots in stacks of {} and {} DTPs; give whole stacks, and 1 DTP or more",
        config_.name, wanted.name, wanted.slots, wanted.stack, wanted.dtps));
  }
  auto member = std::make_unique<Member>(MemberWatch(wanted, {config_.response_ns, config_.first_response_ns}),
                                         config_.most_of_member);
  for (std::uint32_t dtp = 0; dtp < wanted.dtps; ++dtp) {
    member->ports.push_back(std::make_unique<Port>());
    member->ports.back()->dealer_ = this;
    member->ports.back()->member_ = member.get();
  }
  std::vector<std::uint32_t> room = ledger_.room_for(wanted.slots);
  const std::lock_guard lock(mutex_);
  ledger_.widen(std::move(room));
  members_.push_back(std::move(member));
}

std::size_t Dealer::join(const MemberConfig& member) {
  add(member);
  const std::lock_guard lock(mutex_);
  Member& joined = *members_.back();
  joined.watch.hold();
  publish(joined);
  log::write(log::Level::info, where(), "group {}: {} joins", config_.name, member.name);
  return members_.size() - 1;
}

void Dealer::withdraw() {
  const std::lock_guard lock(mutex_);
  members_.pop_back();
  chooser_.restart();
}

std::optional<std::size_t> Dealer::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < members_.size(); ++number) {
    if (members_[number]->watch.config().name == name) return number;
  }
  return std::nullopt;
}

Dealer::Port& Dealer::port(std::size_t member, std::size_t dtp) {
  const std::lock_guard lock(mutex_);
  return *members_.at(member)->ports.at(dtp);
}

void Dealer::begin(std::int64_t start_ns) noexcept {
  const std::lock_guard lock(mutex_);
  pace_ = {.rate_hz = config_.rate_hz, .frame = 0, .start_ns = start_ns, .times = config_.times};
  last_step_ns_ = fed_ns_ = start_ns;
}

void Dealer::run(const std::stop_token& stop, std::int64_t start_ns) {
  memory::place_this_thread("dealer", -1);
  begin(start_ns);
  while (!stop.stop_requested() && !failed()) {
    const std::int64_t now = now_ns();
    const std::int64_t next = step(now);
    const std::int64_t rest = std::clamp(next - now_ns(), kShortestSleepNs, kLongestSleepNs);
    std::this_thread::sleep_for(std::chrono::nanoseconds(rest));
  }
}

std::int64_t Dealer::step(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  // Time in which this thread did not run proves nothing against anybody.
  const std::int64_t gap = now - last_step_ns_ - config_.response_ns / 4;
  last_step_ns_ = now;
  for (std::size_t number = 0; number < members_.size(); ++number) {
    if (gap > 0) members_[number]->watch.excuse(gap);
    look(number, now);
  }
  if (gap > 0) fed_ns_ += gap;
  const std::int64_t next = deal(now);
  judge(now);
  return next;
}

void Dealer::publish(Member& member) noexcept {
  member.answers.store(member.watch.answers(), std::memory_order_relaxed);
}

MemberReport Dealer::reported(const Member& member) noexcept {
  MemberReport all{.granted = link::kUnlimited, .sent = member.watch.dealt(), .begun = member.watch.dealt()};
  for (const auto& port : member.ports) {
    const std::uint64_t granted = port->granted_.load(std::memory_order_acquire);
    all.granted = std::min(all.granted, granted);
    all.most_granted = std::max(all.most_granted, granted);
  }
  for (const auto& port : member.ports) {
    all.begun = std::min(all.begun, port->begun_.load(std::memory_order_acquire));
    all.sent = std::min(all.sent, port->sent_.load(std::memory_order_relaxed));
    all.had += port->had_.load(std::memory_order_relaxed);
    all.in_error = all.in_error || port->in_error_.load(std::memory_order_relaxed);
    const std::int64_t open = port->open_ns_.load(std::memory_order_relaxed);
    if (open != 0 && (all.open_ns == 0 || open < all.open_ns)) all.open_ns = open;
  }
  return all;
}

void Dealer::note_done(std::size_t number, const MemberWatch::Seen& seen) {
  Member& member = *members_[number];
  for (std::uint64_t index = seen.done_from; index < seen.done_to; ++index) {
    if (member.watch.is_void(index)) continue;
    if (!ledger_.done(number, member.image(index))) ++member.duplicates;
  }
}

void Dealer::look(std::size_t number, std::int64_t now) {
  using News = MemberWatch::Seen::News;
  Member& member = *members_[number];
  const MemberWatch& watch = member.watch;
  const MemberWatch::Seen seen = member.watch.look(reported(member), now);
  note_done(number, seen);
  take_back(number, seen.void_from, seen.void_to);
  if (seen.news == News::nothing) return;
  publish(member);
  const std::string& name = watch.config().name;
  if (seen.news == News::heard) {
    return log::write(log::Level::info, where(), "group {}: {} is heard again and fed", config_.name, name);
  }
  if (seen.news == News::broken) {
    log::write(log::Level::warning, where(), "group {}: the connection to {} is in error; it is given no more",
               config_.name, name);
  } else {
    log::write(log::Level::warning, where(),
               "group {}: {} owes {} images and is silent for {} ms: it is given no more until it is heard",
               config_.name, name, watch.dealt() - watch.done(), watch.silent_ns() / 1'000'000);
  }
  take_back(number, watch.done(), watch.dealt());
}

// Images `from` … `to` − 1 of a member, that no other member has got since, are dealt again.
void Dealer::take_back(std::size_t number, std::uint64_t from, std::uint64_t to) {
  Member& member = *members_[number];
  for (std::uint64_t index = from; index < to; ++index) {
    if (ledger_.take_back(number, member.image(index))) ++member.taken;
  }
}

bool Dealer::Member::has_copy(std::uint32_t wanted, bool void_too) const noexcept {
  for (std::uint64_t index = watch.done(); index < watch.dealt(); ++index) {
    if (image(index) == wanted && (void_too || !watch.is_void(index))) return true;
  }
  return false;
}

std::optional<std::size_t> Dealer::choose(std::optional<std::uint32_t> without_copy_of) const noexcept {
  return chooser_.choose(members_.size(), [this, without_copy_of](std::size_t number) {
    const Member& member = *members_[number];
    const MemberWatch& watch = member.watch;
    return Hand{
        .can_take = watch.has_room() && !member.full() && !(without_copy_of && member.has_copy(*without_copy_of, true)),
        .open = watch.hand_open(),
        .unfinished = watch.dealt() - watch.done(),
        .response_ns = watch.response_ns()};
  });
}

void Dealer::give(std::size_t number, std::uint32_t image, std::int64_t now) noexcept {
  Member& member = *members_[number];
  const std::uint64_t index = member.watch.dealt();
  // relaxed: `dealt` releases it to the ports' threads
  member.images[index].store(image, std::memory_order_relaxed);
  member.watch.gave(now);
  member.dealt.store(index + 1, std::memory_order_release);
  chooser_.gave(number);
}

std::int64_t Dealer::due_ns(std::uint64_t image) const noexcept {
  return pace_.rate_hz > 0 ? pace_.due_ns(config_.slice.frame(image)) : pace_.start_ns;
}

// A member that has a copy of the image on its way, and may be sent it.
std::optional<std::size_t> Dealer::holder_of(std::uint32_t image) const noexcept {
  for (std::size_t number = 0; number < members_.size(); ++number) {
    if (members_[number]->watch.answers() && members_[number]->has_copy(image, false)) return number;
  }
  return std::nullopt;
}

// Nobody is dealt an image of which it has a copy on its way: it would have it twice. The copy counts again where
// nobody else can take the image. Void copies come last. False: nobody can take it now.
bool Dealer::deal_again(std::uint32_t image, std::int64_t now) {
  auto member = choose(image);
  if (!member) {
    if (const auto holder = holder_of(image)) {
      ledger_.give_back(*holder);
      return true;
    }
    member = choose();
  }
  if (!member) return false;
  ++members_[*member]->resent;
  give(*member, ledger_.give_again(*member), now);
  return true;
}

// Images dealt again go before fresh ones.
std::int64_t Dealer::deal(std::int64_t now) {
  for (auto image = ledger_.again(); image && deal_again(*image, now);) image = ledger_.again();
  while (ledger_.fresh() < config_.images && config_.slice.frame(ledger_.fresh()) < hold_) {
    const std::int64_t due = due_ns(ledger_.fresh());
    if (due > now) return due;
    const auto member = ledger_.any_again() ? std::nullopt : choose();
    if (member) {
      give(*member, ledger_.give_fresh(*member), now);
    } else if (config_.skip) {
      ledger_.skip();
    } else {
      return now + kShortestSleepNs;
    }
  }
  return now + kLongestSleepNs;
}

// Whether all is done, and whether anybody is left to do it.
void Dealer::judge(std::int64_t now) {
  bool fed = false;
  bool hopeful = false;  // somebody may be heard again
  bool owing = false;
  bool held = false;
  for (const auto& member : members_) {
    const MemberState state = member->watch.state();
    const bool room = !member->full();
    fed = fed || (room && state == MemberState::fed);
    hopeful = hopeful || (room && (state == MemberState::fed || state == MemberState::late));
    owing = owing || member->watch.owes();
    held = held || state == MemberState::held;
  }
  if (fed) fed_ns_ = now;
  const bool all_dealt = ledger_.fresh() == config_.images && !ledger_.any_again();
  settled_.store(all_dealt && !owing, std::memory_order_release);
  if (all_dealt || failed()) return;
  if ((!hopeful && !held) || now - fed_ns_ > config_.patience_ns) fail();
}

void Dealer::fail() {
  std::string states;
  for (const auto& member : members_) {
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", member->watch.config().name,
                          words_of(member->watch.state(), member->full()));
  }
  error_ = fmt::format(
      "group {}: nobody is left to take frame {} and those after it: {}; look at the receivers, or give more of them",
      config_.name, config_.slice.frame(ledger_.again().value_or(ledger_.fresh())), states);
  log::write(log::Level::error, where(), "{}", error_);
  failed_.store(true, std::memory_order_release);
}

void Dealer::eject(std::size_t member, std::uint64_t image) {
  const std::lock_guard lock(mutex_);
  Member& one = *members_.at(member);
  one.watch.eject();
  publish(one);
  // The source of the order may have heard less of its credits.
  const std::uint64_t from = std::max(image, one.watch.done());
  log::write(log::Level::warning, where(), "group {}: {} is given up by order, from its image {} on", config_.name,
             one.watch.config().name, from);
  take_back(member, from, one.watch.dealt());
  settled_.store(false, std::memory_order_release);
}

void Dealer::feed(std::size_t member, bool fed) {
  const std::lock_guard lock(mutex_);
  Member& one = *members_.at(member);
  if (one.watch.state() == MemberState::broken) return;
  one.watch.feed(fed, last_step_ns_);
  publish(one);
  log::write(log::Level::info, where(), "group {}: {} is {} by order", config_.name, one.watch.config().name,
             fed ? "fed again" : "given no more");
}

void Dealer::hold(std::uint64_t frame) {
  const std::lock_guard lock(mutex_);
  hold_ = frame;
}

std::uint64_t Dealer::begun() const {
  const std::lock_guard lock(mutex_);
  return ledger_.fresh() == 0 ? 0 : config_.slice.frame(ledger_.fresh() - 1) + 1;
}

void Dealer::set_pace(const Pace& pace) {
  const std::lock_guard lock(mutex_);
  pace_ = pace;
}

GroupStatus Dealer::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status{{ledger_.counts()}, {}, settled(), error_};
  for (const auto& member : members_) {
    const MemberWatch& watch = member->watch;
    status.members.push_back({.name = watch.config().name,
                              .state = watch.state(),
                              .dealt = watch.dealt(),
                              .done = watch.done(),
                              .taken = member->taken,
                              .resent = member->resent,
                              .duplicates = member->duplicates,
                              .lates = watch.lates(),
                              .response_ns = watch.response_ns(),
                              .silent_ns = watch.silent_ns(),
                              .given_ago_ns = watch.given_ns() != 0 ? last_step_ns_ - watch.given_ns() : 0});
  }
  return status;
}

std::vector<std::uint64_t> Dealer::dealt(std::size_t member) const {
  const std::lock_guard lock(mutex_);  // one that was withdrawn takes its images with it
  const Member& one = *members_.at(member);
  std::vector<std::uint64_t> frames(one.dealt.load(std::memory_order_acquire));
  for (std::size_t index = 0; index < frames.size(); ++index) frames[index] = config_.slice.frame(one.image(index));
  return frames;
}

}  // namespace rashpa::transfer
