// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/image/region.hpp"
#include "rashpa/core/log.hpp"

namespace rashpa::transfer {

struct LedgerConfig {
  std::string name{};  ///< of the group, for the log
  std::uint32_t run = 0;
  Slice slice{};
  std::uint64_t images = 0;         ///< of the slice; below 2^32
  std::uint64_t replay_frames = 0;  ///< frames behind the newest one that can be sent again
};

/// Counts of images; all that were due are dealt, done, skipped or lost, or wait to be dealt again.
struct LedgerCounts {
  std::uint64_t fresh = 0;       ///< that have been due
  std::uint64_t waiting = 0;     ///< that are to be dealt again
  std::uint64_t resent = 0;      ///< that were dealt again
  std::uint64_t duplicates = 0;  ///< that a member was done with after another one
  std::uint64_t lost = 0;        ///< that had left the window when they should have been dealt again
  std::uint64_t skipped = 0;     ///< that went to nobody when they were due
};

/// The books of a group's images: the member that was given each last, its fate, and those that are to be dealt again,
/// in order. Members are numbers below 256; it knows nothing else of them, and chooses none. No thread and no lock of
/// its own; memory in the constructor and in room_for() alone.
class Ledger {
 public:
  explicit Ledger(LedgerConfig config);

  /// The ring of images to be dealt again has room for all slots of one more member. In two steps, so that
  /// nobody waits while memory is taken: room_for() may be called while others use the ledger, and widen() not.
  [[nodiscard]] std::vector<std::uint32_t> room_for(std::uint32_t slots) const;
  void widen(std::vector<std::uint32_t> room) noexcept;

  /// The first image that nobody has had; config().images when all were due.
  [[nodiscard]] std::uint64_t fresh() const noexcept { return counts_.fresh; }
  /// The image that is to be dealt again before all others. Images that were done meanwhile are forgotten,
  /// and those that have left the window are lost.
  [[nodiscard]] std::optional<std::uint32_t> again() noexcept;
  /// Returns true when any image may be dealt again.
  [[nodiscard]] bool any_again() const noexcept { return again_head_ != again_tail_; }

  /// The image that again() has said goes to `member`.
  std::uint32_t give_again(std::size_t member) noexcept {
    const std::uint32_t image = again_[again_head_++ % again_.size()];
    ++counts_.resent;
    give(member, image);
    return image;
  }
  /// The image that again() has said is the own of `member` again, which has a copy of it on its way.
  void give_back(std::size_t member) noexcept { give(member, again_[again_head_++ % again_.size()]); }
  /// The first that nobody has had goes to `member`, or to nobody.
  std::uint32_t give_fresh(std::size_t member) noexcept {
    const auto image = static_cast<std::uint32_t>(counts_.fresh++);
    give(member, image);
    return image;
  }
  void skip() noexcept;
  /// `member` is done with an image that it was given. False: it is a duplicate.
  bool done(std::size_t member, std::uint32_t image) noexcept {
    if (images_[image] == Image::done) {
      ++counts_.duplicates;
      return false;
    }
    if (images_[image] == Image::lost) --counts_.lost;
    images_[image] = Image::done;
    owners_[image] = static_cast<std::uint8_t>(member);
    return true;
  }
  /// `member` had `image`, which is dealt again, or lost where it has left the window. False: somebody else has been
  /// given it since, or it is on its way already.
  bool take_back(std::size_t member, std::uint32_t image) noexcept;

  [[nodiscard]] LedgerCounts counts() const noexcept;
  [[nodiscard]] const LedgerConfig& config() const noexcept { return config_; }
  [[nodiscard]] log::Where where(std::uint64_t image) const noexcept;

 private:
  enum class Image : std::uint8_t { fresh, dealt, again, done, lost, skipped };
  [[nodiscard]] bool in_window(std::uint32_t image) const noexcept;
  void push_again(std::uint32_t image) noexcept;
  void lose(std::uint32_t image) noexcept;
  void give(std::size_t member, std::uint32_t image) noexcept {
    images_[image] = Image::dealt;
    owners_[image] = static_cast<std::uint8_t>(member);
  }

  LedgerConfig config_;
  std::unique_ptr<Image[]> images_;         // of the slice
  std::unique_ptr<std::uint8_t[]> owners_;  // … the last member that was given it
  std::vector<std::uint32_t> again_;        // ring of images to be dealt again
  std::uint64_t again_head_ = 0, again_tail_ = 0;
  LedgerCounts counts_;  // but for those that wait
  log::Limiter lost_said_;
};

}  // namespace rashpa::transfer
