// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rashpa::transfer {

/// One receiver of a group in the form that the source needs.
struct MemberConfig {
  std::string name;
  std::uint32_t slots = 0;  ///< slots of its ring
  std::uint32_t stack = 1;  ///< images that it returns together
  std::uint32_t dtps = 1;   ///< DTPs that send it an image
};

enum class MemberState : std::uint8_t {
  fed,      ///< gets images
  late,     ///< silent with unfinished work: gets no images until it answers again
  held,     ///< gets no images by order, but keeps those it has
  ejected,  ///< given up by order: its unfinished images are dealt again
  broken,   ///< its connection is in error: treated as ejected
};

/// The combined reports of all DTPs of a member.
struct MemberReport {
  std::uint64_t granted = 0;  ///< images granted to all DTPs
  std::uint64_t sent = 0;     ///< images sent by all DTPs
  std::uint64_t had = 0;      ///< sum of the bytes that were sent and answered
  bool in_error = false;      ///< true: the connection of any DTP is in error
  std::int64_t open_ns = 0;   ///< earliest time since which a DTP has bytes in flight without an answer; 0: none has
  std::uint64_t begun = 0;    ///< images that all DTPs have begun to send
  /// most images granted to any DTP; the receiver has finished the images that lie one ring before them
  std::uint64_t most_granted = 0;
};

/// Follows one member of a group: images dealt, sent, and reported as done by its credits; its response time; and
/// whether it is silent with unfinished work. Images are those dealt to the member, numbered from 0. No thread, lock or
/// log of its own; only the constructor takes memory.
class MemberWatch {
 public:
  struct Times {
    std::int64_t response_ns = 0;        ///< longest silence of a member with unfinished work
    std::int64_t first_response_ns = 0;  ///< longest silence of a member with its first stack
  };
  /// The findings of a look. `done_from` … `done_to` are the images finished since the last look. `void_from` …
  /// `void_to` are those that it gave up before all DTPs had begun them, so that its copies of them are incomplete.
  struct Seen {
    enum class News : std::uint8_t { nothing, broken, late, heard };
    News news = News::nothing;
    std::uint64_t done_from = 0, done_to = 0;
    std::uint64_t void_from = 0, void_to = 0;
  };

  MemberWatch(MemberConfig config, Times times);

  /// Records that the member got one more image.
  void gave(std::int64_t now) noexcept {
    dealt_ns_[dealt_ % config_.slots] = now;
    void_[dealt_ % config_.slots] = 0;
    given_ns_ = now;
    ++dealt_;
  }
  /// Evaluates a report at time `now`. Reports of a broken or ejected member prove nothing, because its images belong
  /// to others.
  [[nodiscard]] Seen look(const MemberReport& report, std::int64_t now) noexcept;
  /// Leaves out `gap_ns` in which no thread called look(), since such time proves nothing.
  void excuse(std::int64_t gap_ns) noexcept;
  /// Starts or stops the member's supply by order; its silence counts from `now` on. A broken member stays broken.
  void feed(bool fed, std::int64_t now) noexcept;
  void eject() noexcept;
  /// Holds a member that has joined: it gets no images yet.
  void hold() noexcept { state_ = MemberState::held; }

  [[nodiscard]] const MemberConfig& config() const noexcept { return config_; }
  [[nodiscard]] MemberState state() const noexcept { return state_; }
  /// Returns true when the images that the member has may still be sent to it.
  [[nodiscard]] bool answers() const noexcept { return state_ == MemberState::fed || state_ == MemberState::held; }
  /// Returns true when the member is fed and has a free slot.
  [[nodiscard]] bool has_room() const noexcept { return state_ == MemberState::fed && dealt_ < granted_; }
  /// Returns true when its last stack is not full yet.
  [[nodiscard]] bool hand_open() const noexcept { return dealt_ % config_.stack != 0; }
  /// Returns true when the member is fed and has a whole unfinished stack, or an image that was not sent.
  [[nodiscard]] bool owes() const noexcept;
  [[nodiscard]] std::uint64_t dealt() const noexcept { return dealt_; }
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  /// Returns true when its copy of an image that is unfinished, or was finished in this look, is void.
  [[nodiscard]] bool is_void(std::uint64_t index) const noexcept { return void_[index % config_.slots] != 0; }
  /// Returns the time from a stack's last image sent to its credits, weighted towards the latest; 0: it has returned
  /// none.
  [[nodiscard]] std::int64_t response_ns() const noexcept { return answered_ ? response_ns_ : 0; }
  [[nodiscard]] std::uint64_t lates() const noexcept { return lates_; }         ///< number of times that it was late
  [[nodiscard]] std::int64_t silent_ns() const noexcept { return silent_ns_; }  ///< silence when it was last found late
  /// time at which it last got an image; 0: never
  [[nodiscard]] std::int64_t given_ns() const noexcept { return given_ns_; }

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
