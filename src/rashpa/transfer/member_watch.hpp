// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rashpa::transfer {

/// One receiver of a group, as the source knows it.
struct MemberConfig {
  std::string name;
  std::uint32_t slots = 0;  ///< of its ring
  std::uint32_t stack = 1;  ///< images that it gives back together
  std::uint32_t dtps = 1;   ///< that bring it an image
};

enum class MemberState : std::uint8_t {
  fed,      ///< it is given images
  late,     ///< it owes something and is silent: given nothing until it is heard again
  held,     ///< given nothing more by order; its images stay its own
  ejected,  ///< given up by order: images that it had not done are dealt again
  broken,   ///< its connection is in error: the same
};

/// The reports of all DTPs of a member, taken together.
struct MemberReport {
  std::uint64_t granted = 0;       ///< images, by all
  std::uint64_t sent = 0;          ///< images, by all
  std::uint64_t had = 0;           ///< bytes that they have sent and that were answered for; sum
  bool in_error = false;           ///< the connection of any
  std::int64_t open_ns = 0;        ///< since when one has bytes open without any news, the first; 0: none has
  std::uint64_t begun = 0;         ///< images that all have begun to send
  std::uint64_t most_granted = 0;  ///< images, by any: the receiver is through with those a ring before
};

/// Follows one member of a group: the images that it was given, that were sent, and that its credits say it needs no
/// more; how long that takes it; and whether it owes something and is silent. Knows members by numbers alone: images
/// are those that it was given, from 0 on. No thread and no lock of its own, no log; memory in the constructor alone.
class MemberWatch {
 public:
  struct Times {
    std::int64_t response_ns = 0;        ///< longest silence of a member that owes something
    std::int64_t first_response_ns = 0;  ///< … of its first stack
  };
  /// The findings of a look; `done_from` … `done_to`: images that it needs no more since. `void_from` … `void_to`:
  /// those that it has given up before all DTPs had begun them. Its copies of them are not whole.
  struct Seen {
    enum class News : std::uint8_t { nothing, broken, late, heard };
    News news = News::nothing;
    std::uint64_t done_from = 0, done_to = 0;
    std::uint64_t void_from = 0, void_to = 0;
  };

  MemberWatch(MemberConfig config, Times times);

  /// Tells that the member was given one more image.
  void gave(std::int64_t now) noexcept {
    dealt_ns_[dealt_ % config_.slots] = now;
    void_[dealt_ % config_.slots] = 0;
    given_ns_ = now;
    ++dealt_;
  }
  /// Reports of one that is broken or ejected prove nothing: its images belong to others.
  [[nodiscard]] Seen look(const MemberReport& report, std::int64_t now) noexcept;
  /// Leaves out `gap_ns` in which no thread looked: such time proves nothing.
  void excuse(std::int64_t gap_ns) noexcept;
  /// Begins or ends the member's supply by order: its silence counts from `now` on. A broken one stays broken.
  void feed(bool fed, std::int64_t now) noexcept;
  void eject() noexcept;
  /// Holds a member that has joined: it is given nothing yet.
  void hold() noexcept { state_ = MemberState::held; }

  [[nodiscard]] const MemberConfig& config() const noexcept { return config_; }
  [[nodiscard]] MemberState state() const noexcept { return state_; }
  /// Returns true when what it has may still be sent to it.
  [[nodiscard]] bool answers() const noexcept { return state_ == MemberState::fed || state_ == MemberState::held; }
  /// Returns true when the member is fed, and has a free slot.
  [[nodiscard]] bool has_room() const noexcept { return state_ == MemberState::fed && dealt_ < granted_; }
  /// Returns true when its last stack is not full yet.
  [[nodiscard]] bool hand_open() const noexcept { return dealt_ % config_.stack != 0; }
  /// Returns true when the member is fed and has a whole stack that it has not done, or something that was not sent.
  [[nodiscard]] bool owes() const noexcept;
  [[nodiscard]] std::uint64_t dealt() const noexcept { return dealt_; }
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  /// Returns true when its copy of an image that it has not done, or has done in this look, is void.
  [[nodiscard]] bool is_void(std::uint64_t index) const noexcept { return void_[index % config_.slots] != 0; }
  /// The time from a stack's last image sent to its credits, weighted towards the latest; 0: it has given back none.
  [[nodiscard]] std::int64_t response_ns() const noexcept { return answered_ ? response_ns_ : 0; }
  [[nodiscard]] std::uint64_t lates() const noexcept { return lates_; }         ///< how often it was late
  [[nodiscard]] std::int64_t silent_ns() const noexcept { return silent_ns_; }  ///< when it was last found late
  [[nodiscard]] std::int64_t given_ns() const noexcept { return given_ns_; }  ///< when it was given an image; 0: never

 private:
  void note_sent(std::uint64_t sent, std::int64_t now) noexcept;
  void note_done(std::uint64_t done, std::int64_t now) noexcept;
  void note_void(const MemberReport& report, Seen& seen) noexcept;
  [[nodiscard]] std::int64_t silence(const MemberReport& report, std::int64_t now) const noexcept;
  [[nodiscard]] std::int64_t allowed() const noexcept;

  MemberConfig config_;
  Times times_;
  MemberState state_ = MemberState::fed;
  std::vector<std::int64_t> sent_ns_;   // by slot: when the image was seen to be sent
  std::vector<std::int64_t> dealt_ns_;  // by slot
  std::vector<std::uint8_t> void_;      // by slot
  std::uint64_t dealt_ = 0, sent_ = 0, done_ = 0, granted_ = 0;
  std::uint64_t void_to_ = 0;  // images before that one are not void, or are known to be
  std::int64_t done_moved_ns_ = 0, sent_moved_ns_ = 0, given_ns_ = 0;
  std::int64_t open_ns_ = 0, open_excused_ns_ = 0;  // at the last look; left out since then
  std::uint64_t done_when_late_ = 0, had_when_late_ = 0, lates_ = 0;
  std::int64_t response_ns_ = 0, silent_ns_ = 0;
  bool answered_ = false;  // it has given back a stack
};

}  // namespace rashpa::transfer
