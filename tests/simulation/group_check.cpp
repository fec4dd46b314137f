// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.hpp"
#include "group_player.hpp"

namespace rashpa::simulation {

void GroupPlayer::check() {
  result_.ns = world::now() - begun_ns_;
  const bool through = !over();
  for (const auto& member : members_) {
    if (member->alive()) member->receiver->stop();
    check_member(*member);
  }
  if (const std::string text = error(); !text.empty()) check_failure(text);
  if (through) check_group();
}

void GroupPlayer::check_member(Member& member) {
  fates_.emplace_back();
  logs_.emplace_back();
  for (const link::Endpoint& end : member.destinations) logs_.back().push_back(network()->log(end.port, end.qpn));
  dealt_.emplace_back();
  for (const std::uint64_t frame : emulator_->groups()->dealt(kGroup, member.name)) {
    dealt_.back().push_back((frame - slice_.phase) / slice_.every);
  }
  if (!member.alive()) return;
  const receiver::Status status = member.receiver->status();
  fates_.back() = member.receiver->completeness(0);
  result_.complete += status.buffers[0].books.complete;
  result_.expected += status.buffers[0].books.expected;
  const auto say = [&](const std::string& text) { wrong(member.name + ": " + text); };
  for (const std::string& text : books_wrong(status, fates_.back(), member.receiver->decisions(0))) say(text);
  for (const auto& found : member.found) {
    for (const std::string& text : sink_wrong(*found, status.buffers[0].books)) say(text);
    for (std::size_t index = 0; index < found->frames.size(); ++index) {
      const std::uint64_t frame = found->frames[index];
      if (frame == kUnknownFrame) continue;
      if (index >= dealt_.back().size() || slice_.frame(dealt_.back()[index]) != frame) {
        say(fmt::format("image {} came as frame {}, which it was not dealt", index, frame));
        break;
      }
    }
  }
  const Promised promised{.harmed_is_found = scenario_.roce.transport != link::Transport::rc};
  for (const std::string& text : fates_wrong(scenario_, promised, fates_.back(), logs_.back())) say(text);
}

// Somebody could have taken more, by all that the hand knows.
void GroupPlayer::check_failure(const std::string& error) {
  if (error.find("nobody is left to take frame") == std::string::npos) wrong("a failure without its cause: " + error);
  const transfer::GroupStatus status = dealer().status();
  // One that nothing has disturbed for so long is heard of, whatever was lost before.
  const bool quiet = world::now() - disturbed_until_ns_ > kHeardNs;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const transfer::MemberState state = status.members[m].state;
    if (members_[m]->alive() && members_[m]->fed && !members_[m]->finished &&
        (state == transfer::MemberState::fed || (quiet && state == transfer::MemberState::late))) {
      wrong(fmt::format("{}; and {} is alive and fed", error, members_[m]->name));
    }
  }
}

void GroupPlayer::check_group() {
  const transfer::GroupStatus status = dealer().status();
  const std::uint64_t images = slice_.images(scenario_.frames);
  if (status.fresh != images) wrong(fmt::format("{} of {} images were due", status.fresh, images));
  if (status.waiting != 0) wrong(fmt::format("{} images still wait to be dealt again", status.waiting));
  std::uint64_t given = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    given += dealt_[m].size();
    if (members_[m]->finished && fates_[m].size() != dealt_[m].size()) {
      wrong(fmt::format("{} was dealt {} images, and its books have {}", members_[m]->name, dealt_[m].size(),
                        fates_[m].size()));
    }
  }
  if (given != images - status.skipped + status.resent) {
    wrong(fmt::format("{} images were dealt: {} that there are, {} skipped, {} dealt again", given, images,
                      status.skipped, status.resent));
  }
  if (status.skipped != 0 && scenario_.on_full == transfer::OnFull::pause) wrong("images are skipped");
  if (status.lost != 0 && scenario_.group->replay_frames >= scenario_.frames)
    wrong("images have left an endless window");
  check_images(status);
}

// A copy of an image that counts: as the manager's books have it.
bool GroupPlayer::whole(const Member& member, std::uint64_t index) const {
  const auto m = static_cast<std::size_t>(member.process - kFirstMember);
  if (member.lost) return index < member.done;
  return index < fates_[m].size() && fates_[m][index] == Completeness::complete;
}

// The network explains why a copy that a member has given back is not whole, or nothing is promised of it.
bool GroupPlayer::excused(const Member& member, std::uint64_t index) const {
  const auto m = static_cast<std::size_t>(member.process - kFirstMember);
  const Promised promised = promised_of(scenario_, disturbed_ns_, false, false, false);
  if (scenario_.roce.transport == link::Transport::rc) return !promised.all_arrives;
  if (!promised.unharmed_arrives || index >= silent_from(logs_[m], scenario_.stack)) return true;
  return std::any_of(logs_[m].begin(), logs_[m].end(), [&](const PathLog* log) {
    return log != nullptr && index < log->harmed.size() && log->harmed[index];
  });
}

void GroupPlayer::check_images(const transfer::GroupStatus& status) {
  const std::uint64_t images = slice_.images(scenario_.frames);
  std::vector<std::uint8_t> found(images, 0), explained(images, 0);
  std::vector<std::string> copies(images);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::vector<std::uint8_t> own(images, 0);
    for (std::size_t index = 0; index < dealt_[m].size(); ++index) {
      const std::uint64_t image = dealt_[m][index];
      if (image >= images) return wrong(fmt::format("{} was dealt image {}", members_[m]->name, image));
      if (whole(*members_[m], index)) {
        found[image] = 1;
        if (!members_[m]->lost && own[image]++ != 0) {
          return wrong(fmt::format("{} has image {} twice, whole", members_[m]->name, image));
        }
      }
      if (!members_[m]->lost && excused(*members_[m], index)) explained[image] = 1;
      copies[image] += fmt::format(" {}{}[{}]", members_[m]->lost ? "lost " : "", members_[m]->name, index);
    }
  }
  std::uint64_t nobody = 0, missing = 0;
  std::string first;
  for (std::uint64_t image = 0; image < images; ++image) {
    if (found[image] != 0) continue;
    ++nobody;
    if (explained[image] != 0) continue;
    ++missing;
    if (first.empty()) first = fmt::format("image {} is whole nowhere; its copies:{}", image, copies[image]);
  }
  if (missing > status.skipped + status.lost) {
    wrong(fmt::format("{} ({} such images, {} skipped, {} left the window)", first, missing, status.skipped,
                      status.lost));
  }
}

}  // namespace rashpa::simulation
