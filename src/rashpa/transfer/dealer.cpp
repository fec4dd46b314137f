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
constexpr std::int64_t kUnknownResponseNs = 1'000'000;  // of a member that has given nothing back yet
constexpr std::size_t kMostMembers = 255;
constexpr std::int64_t kUsualTimes = 4;  // a member whose stacks take long may be silent for so many times as long

const char* words_of(MemberState state) {
  switch (state) {
    case MemberState::late:
      return "is late";
    case MemberState::ejected:
      return "is given up by order";
    case MemberState::broken:
      return "has a broken connection";
    default:
      return "is not fed";
  }
}

}  // namespace

void Dealer::Port::report(std::uint64_t granted, std::uint64_t sent, const link::Answers& answers,
                          std::int64_t now) noexcept {
  const bool news = answers.had != had_.load(std::memory_order_relaxed);
  granted_.store(granted, std::memory_order_relaxed);
  in_error_.store(answers.in_error, std::memory_order_relaxed);
  had_.store(answers.had, std::memory_order_relaxed);
  sent_.store(sent, std::memory_order_release);
  if (answers.open == 0) {
    open_ns_.store(0, std::memory_order_relaxed);
  } else if (news || open_ns_.load(std::memory_order_relaxed) == 0) {
    open_ns_.store(now, std::memory_order_relaxed);
  }
}

std::optional<std::uint64_t> Dealer::Port::frame(std::uint64_t index) const noexcept {
  if (index >= member_->dealt.load(std::memory_order_acquire)) return std::nullopt;
  if (!member_->answers.load(std::memory_order_relaxed)) return std::nullopt;
  return dealer_->config_.slice.frame(member_->images[index]);
}

Dealer::Dealer(DealerConfig config) : config_(std::move(config)) {
  const std::vector<MemberConfig> members = std::exchange(config_.members, {});
  if (members.size() < 2) {
    throw ConfigError(fmt::format("group {}: {} members; images are dealt among 2 to {}", config_.name, members.size(),
                                  kMostMembers));
  }
  if (config_.images > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(
        fmt::format("group {}: {} images; at most 2^32 - 1 are dealt in one run", config_.name, config_.images));
  }
  again_.resize(std::min(config_.replay_frames, config_.images) + 1);
  for (const MemberConfig& member : members) add(member);
  images_ = std::make_unique<Image[]>(config_.images);
  owners_ = std::unique_ptr<std::uint8_t[]>(new std::uint8_t[config_.images]);
}

void Dealer::add(const MemberConfig& wanted) {
  if (members_.size() == kMostMembers || find(wanted.name)) {
    throw ConfigError(members_.size() == kMostMembers
                          ? fmt::format("group {}: it has {} members, and no room", config_.name, kMostMembers)
                          : fmt::format("group {}: {} is a member", config_.name, wanted.name));
  }
  if (wanted.slots == 0 || wanted.stack == 0 || wanted.slots % wanted.stack != 0 || wanted.dtps == 0) {
    throw ConfigError(fmt::format("group {}: member {} has {} slots in stacks of {} and {} DTPs", config_.name,
                                  wanted.name, wanted.slots, wanted.stack, wanted.dtps));
  }
  auto member = std::make_unique<Member>();
  member->config = wanted;
  member->status.name = wanted.name;
  // Not touched before they are used: a run has rarely as many images for each member.
  member->images = std::unique_ptr<std::uint32_t[]>(new std::uint32_t[config_.images]);
  member->sent_ns.assign(wanted.slots, 0);
  member->dealt_ns.assign(wanted.slots, 0);
  for (std::uint32_t dtp = 0; dtp < wanted.dtps; ++dtp) {
    member->ports.push_back(std::make_unique<Port>());
    member->ports.back()->dealer_ = this;
    member->ports.back()->member_ = member.get();
  }
  // The ring has room for all that members can have at a time.
  std::vector<std::uint32_t> room(std::min(again_.size() + wanted.slots, config_.images + 1));
  const std::lock_guard lock(mutex_);
  for (std::uint64_t i = again_head_; i < again_tail_; ++i) room[i % room.size()] = again_[i % again_.size()];
  again_.swap(room);
  members_.push_back(std::move(member));
}

std::size_t Dealer::join(const MemberConfig& member) {
  add(member);
  const std::lock_guard lock(mutex_);
  Member& joined = *members_.back();
  set_state(joined, MemberState::held);
  log::write(log::Level::info, where(fresh_), "group {}: {} joins", config_.name, member.name);
  return members_.size() - 1;
}

void Dealer::withdraw() {
  const std::lock_guard lock(mutex_);
  members_.pop_back();
  current_ = 0;
}

std::optional<std::size_t> Dealer::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < members_.size(); ++number) {
    if (members_[number]->config.name == name) return number;
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
    if (gap > 0) {
      members_[number]->done_moved_ns += gap;
      members_[number]->sent_moved_ns += gap;
    }
    look(number, now);
  }
  if (gap > 0) fed_ns_ += gap;
  const std::int64_t next = deal(now);
  judge(now);
  return next;
}

// How long a member that owes something has been silent; 0: it owes nothing.
std::int64_t Dealer::silence(const Member& member, std::int64_t now) const noexcept {
  const MemberConfig& config = member.config;
  std::int64_t longest = 0;
  const std::uint64_t dealt = member.dealt.load(std::memory_order_relaxed);
  const std::uint64_t done = member.status.done;
  if (const std::uint64_t end = (done / config.stack + 1) * config.stack; member.sent >= end) {
    const std::int64_t since = std::max(member.sent_ns[(end - 1) % config.slots], member.done_moved_ns);
    longest = now - since - (allowed(member) - config_.response_ns);
  }
  if (dealt > member.sent) {
    const std::int64_t since = std::max(member.dealt_ns[member.sent % config.slots], member.sent_moved_ns);
    longest = std::max(longest, now - since);
  }
  for (const auto& port : member.ports) {
    const std::int64_t since = port->open_ns_.load(std::memory_order_relaxed);
    if (since != 0) longest = std::max(longest, now - std::max(since, member.done_moved_ns));
  }
  return std::max<std::int64_t>(longest, 0);
}

std::int64_t Dealer::allowed(const Member& member) const noexcept {
  return std::max(config_.response_ns,
                  member.answered ? kUsualTimes * member.status.response_ns : config_.first_response_ns);
}

void Dealer::note_done(std::size_t number, std::uint64_t done, std::int64_t now) {
  Member& member = *members_[number];
  const MemberConfig& config = member.config;
  const std::int64_t sent = member.sent_ns[(done - 1) % config.slots];
  const std::int64_t response = std::max<std::int64_t>(now - (sent != 0 ? sent : now), 1);
  member.status.response_ns = member.answered ? (7 * member.status.response_ns + response) / 8 : response;
  member.answered = true;
  member.done_moved_ns = now;
  for (std::uint64_t index = member.status.done; index < done; ++index) {
    const std::uint32_t image = member.images[index];
    if (images_[image] == Image::done) {
      ++member.status.duplicates;
      ++counts_.duplicates;
      continue;
    }
    if (images_[image] == Image::lost) --counts_.lost;
    images_[image] = Image::done;
    owners_[image] = static_cast<std::uint8_t>(number);
  }
  member.status.done = done;
}

void Dealer::set_state(Member& member, MemberState state) noexcept {
  member.status.state = state;
  member.answers.store(state == MemberState::fed || state == MemberState::held, std::memory_order_relaxed);
}

void Dealer::look(std::size_t number, std::int64_t now) {
  Member& member = *members_[number];
  const MemberConfig& config = member.config;
  const std::uint64_t dealt = member.dealt.load(std::memory_order_relaxed);
  std::uint64_t granted = link::kUnlimited;
  std::uint64_t sent = dealt;
  std::uint64_t had = 0;
  for (const auto& port : member.ports) {
    sent = std::min(sent, port->sent_.load(std::memory_order_acquire));
    granted = std::min(granted, port->granted_.load(std::memory_order_relaxed));
    had += port->had_.load(std::memory_order_relaxed);
  }
  if (sent > member.sent) {
    for (std::uint64_t index = member.sent; index < sent; ++index) member.sent_ns[index % config.slots] = now;
    member.sent = sent;
    member.sent_moved_ns = now;
  }
  const MemberState state = member.status.state;
  const bool in_error = std::any_of(member.ports.begin(), member.ports.end(),
                                    [](const auto& port) { return port->in_error_.load(std::memory_order_relaxed); });
  if (in_error) {
    if (state == MemberState::ejected || state == MemberState::broken) return;
    set_state(member, MemberState::broken);
    log::write(log::Level::warning, where(fresh_), "group {}: the connection to {} is in error; it is given no more",
               config_.name, config.name);
    return take_back(number, member.status.done);
  }
  // What a receiver says is bounded by what it was given.
  member.granted = std::max(member.granted, std::min(granted, sent + config.slots));
  const std::uint64_t done = member.granted > config.slots ? std::min(member.granted - config.slots, sent) : 0;
  if (done > member.status.done) note_done(number, done, now);
  const std::int64_t silent = silence(member, now);
  if (state == MemberState::fed && silent > config_.response_ns) {
    set_state(member, MemberState::late);
    ++member.status.lates;
    member.status.silent_ns = silent;
    member.done_when_late = member.status.done;
    member.had_when_late = had;
    log::write(log::Level::warning, where(fresh_),
               "group {}: {} owes {} images and is silent for {} ms: it is given no more until it is heard",
               config_.name, config.name, dealt - member.status.done, silent / 1'000'000);
    take_back(number, member.status.done);
  } else if (state == MemberState::late &&
             (member.status.done > member.done_when_late || had != member.had_when_late || silent == 0)) {
    set_state(member, MemberState::fed);
    member.done_moved_ns = member.sent_moved_ns = now;
    log::write(log::Level::info, where(fresh_), "group {}: {} is heard again and fed", config_.name, config.name);
  }
}

bool Dealer::in_window(std::uint32_t image) const noexcept {
  const std::uint64_t newest = fresh_ == 0 ? 0 : fresh_ - 1;
  return (newest - std::min<std::uint64_t>(image, newest)) * config_.slice.every < config_.replay_frames;
}

void Dealer::push_again(std::uint32_t image) {
  if (in_window(image) && again_tail_ - again_head_ < again_.size()) {
    images_[image] = Image::again;
    again_[again_tail_++ % again_.size()] = image;
    return;
  }
  images_[image] = Image::lost;
  ++counts_.lost;
  log::write(lost_said_, log::Level::warning, where(image),
             "group {}: the frame has left the window of {} frames and cannot be sent again", config_.name,
             config_.replay_frames);
}

// What a member has from image `from` on, and what nobody else has been given since, is dealt again.
void Dealer::take_back(std::size_t number, std::uint64_t from) {
  Member& member = *members_[number];
  const std::uint64_t dealt = member.dealt.load(std::memory_order_relaxed);
  for (std::uint64_t index = from; index < dealt; ++index) {
    const std::uint32_t image = member.images[index];
    if (owners_[image] != number || (images_[image] != Image::dealt && images_[image] != Image::done)) continue;
    ++member.status.taken;
    push_again(image);
  }
}

// The member whose hand is not full, else the one that will have done what it has first; of equals, the next in turn.
std::optional<std::size_t> Dealer::choose() noexcept {
  const auto can = [&](std::size_t number) {
    const Member& member = *members_[number];
    const std::uint64_t dealt = member.dealt.load(std::memory_order_relaxed);
    return member.status.state == MemberState::fed && dealt < member.granted && dealt < config_.images;
  };
  const auto open = [&](std::size_t number) {
    return members_[number]->dealt.load(std::memory_order_relaxed) % members_[number]->config.stack != 0;
  };
  if (can(current_) && open(current_)) return current_;
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t step = 1; step <= members_.size(); ++step) {
    const std::size_t number = (current_ + step) % members_.size();
    if (!can(number)) continue;
    const Member& member = *members_[number];
    const std::uint64_t unfinished = member.dealt.load(std::memory_order_relaxed) - member.status.done;
    const std::int64_t response = member.answered ? member.status.response_ns : kUnknownResponseNs;
    const double cost = open(number) ? -1.0 : static_cast<double>(unfinished) * static_cast<double>(response);
    if (!best || cost < least) {
      best = number;
      least = cost;
    }
  }
  return best;
}

void Dealer::give(std::size_t number, std::uint32_t image, std::int64_t now) noexcept {
  Member& member = *members_[number];
  const std::uint64_t index = member.dealt.load(std::memory_order_relaxed);
  if (images_[image] == Image::again) {
    ++member.status.resent;
    ++counts_.resent;
  }
  images_[image] = Image::dealt;
  owners_[image] = static_cast<std::uint8_t>(number);
  member.images[index] = image;
  member.dealt_ns[index % member.config.slots] = now;
  member.given_ns = now;
  member.dealt.store(index + 1, std::memory_order_release);
  current_ = number;
}

std::int64_t Dealer::due_ns(std::uint64_t image) const noexcept {
  return pace_.rate_hz > 0 ? pace_.due_ns(config_.slice.frame(image)) : pace_.start_ns;
}

// What is dealt again goes before what is fresh.
std::int64_t Dealer::deal(std::int64_t now) {
  while (again_head_ != again_tail_) {
    const std::uint32_t image = again_[again_head_ % again_.size()];
    if (images_[image] != Image::again) {  // the member that had it was done with it after all
      ++again_head_;
      continue;
    }
    if (!in_window(image)) {
      ++again_head_;
      push_again(image);  // counts it as lost
      continue;
    }
    const auto member = choose();
    if (!member) break;
    ++again_head_;
    give(*member, image, now);
  }
  while (fresh_ < config_.images && config_.slice.frame(fresh_) < hold_) {
    const std::int64_t due = due_ns(fresh_);
    if (due > now) return due;
    const auto member = again_head_ == again_tail_ ? choose() : std::nullopt;
    const auto image = static_cast<std::uint32_t>(fresh_);
    if (!member && !config_.skip) return now + kShortestSleepNs;
    ++fresh_;
    if (member) {
      give(*member, image, now);
    } else {
      images_[image] = Image::skipped;
      ++counts_.skipped;
    }
  }
  return now + kLongestSleepNs;
}

// Whether all is done, and whether anybody is left to do it.
void Dealer::judge(std::int64_t now) {
  bool fed = false;
  bool hopeful = false;  // somebody may be heard again
  bool owing = false;
  for (std::size_t number = 0; number < members_.size(); ++number) {
    const Member& member = *members_[number];
    const MemberState state = member.status.state;
    const std::uint64_t dealt = member.dealt.load(std::memory_order_relaxed);
    const bool room = dealt < config_.images;  // its tables have so many rows
    fed = fed || (room && state == MemberState::fed);
    hopeful = hopeful || (room && (state == MemberState::fed || state == MemberState::late));
    const bool whole = dealt / member.config.stack * member.config.stack > member.status.done;
    owing = owing || (state == MemberState::fed && (whole || member.sent < dealt));
  }
  if (fed) fed_ns_ = now;
  const bool all_dealt = fresh_ == config_.images && again_head_ == again_tail_;
  settled_.store(all_dealt && !owing, std::memory_order_release);
  if (all_dealt || failed()) return;
  const bool held = std::any_of(members_.begin(), members_.end(),
                                [](const auto& member) { return member->status.state == MemberState::held; });
  if ((hopeful || held) && now - fed_ns_ <= config_.patience_ns) return;
  std::string states;
  for (const auto& member : members_) {
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", member->config.name, words_of(member->status.state));
  }
  counts_.error = fmt::format(
      "group {}: nobody is left to take frame {} and those after it: {}; look at the receivers, or give more of them",
      config_.name, config_.slice.frame(again_head_ != again_tail_ ? again_[again_head_ % again_.size()] : fresh_),
      states);
  log::write(log::Level::error, where(fresh_), "{}", counts_.error);
  failed_.store(true, std::memory_order_release);
}

void Dealer::eject(std::size_t member, std::uint64_t image) {
  const std::lock_guard lock(mutex_);
  Member& one = *members_.at(member);
  if (one.status.state != MemberState::broken) set_state(one, MemberState::ejected);
  // The source of the order may have heard less of its credits.
  const std::uint64_t from = std::max(image, one.status.done);
  log::write(log::Level::warning, where(fresh_), "group {}: {} is given up by order, from its image {} on",
             config_.name, one.config.name, from);
  take_back(member, from);
  settled_.store(false, std::memory_order_release);
}

void Dealer::feed(std::size_t member, bool fed) {
  const std::lock_guard lock(mutex_);
  Member& one = *members_.at(member);
  if (one.status.state == MemberState::broken) return;
  set_state(one, fed ? MemberState::fed : MemberState::held);
  one.done_moved_ns = one.sent_moved_ns = last_step_ns_;
  log::write(log::Level::info, where(fresh_), "group {}: {} is {} by order", config_.name, one.config.name,
             fed ? "fed again" : "given no more");
}

void Dealer::hold(std::uint64_t frame) {
  const std::lock_guard lock(mutex_);
  hold_ = frame;
}

std::uint64_t Dealer::begun() const {
  const std::lock_guard lock(mutex_);
  return fresh_ == 0 ? 0 : config_.slice.frame(fresh_ - 1) + 1;
}

void Dealer::set_pace(const Pace& pace) {
  const std::lock_guard lock(mutex_);
  pace_ = pace;
}

GroupStatus Dealer::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status = counts_;
  status.fresh = fresh_;
  status.waiting = again_tail_ - again_head_;
  status.settled = settled();
  for (const auto& member : members_) {
    status.members.push_back(member->status);
    status.members.back().dealt = member->dealt.load(std::memory_order_relaxed);
    if (member->given_ns != 0) status.members.back().given_ago_ns = last_step_ns_ - member->given_ns;
  }
  return status;
}

std::vector<std::uint64_t> Dealer::dealt(std::size_t member) const {
  const std::lock_guard lock(mutex_);  // one that was withdrawn takes its images with it
  const Member& one = *members_.at(member);
  std::vector<std::uint64_t> frames(one.dealt.load(std::memory_order_acquire));
  for (std::size_t index = 0; index < frames.size(); ++index) frames[index] = config_.slice.frame(one.images[index]);
  return frames;
}

log::Where Dealer::where(std::uint64_t image) const noexcept {
  return {.run = config_.run, .frame = static_cast<std::int64_t>(config_.slice.frame(image))};
}

}  // namespace rashpa::transfer
