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
  std::string name{};  ///< name of the group, for the log
  std::uint32_t run = 0;
  Slice slice{};
  std::uint64_t images = 0;         ///< images of the slice; below 2^32
  std::uint64_t replay_frames = 0;  ///< frames behind the newest one that can be sent again
};

/// The counts of images. All images that were due are dealt, done, skipped or lost, or wait to be dealt again.
struct LedgerCounts {
  std::uint64_t fresh = 0;       ///< images that have been due
  std::uint64_t waiting = 0;     ///< images that wait to be dealt again
  std::uint64_t resent = 0;      ///< images that were dealt again
  std::uint64_t duplicates = 0;  ///< images that a member finished after another one
  std::uint64_t lost = 0;        ///< images that had left the window when they should have been dealt again
  std::uint64_t skipped = 0;     ///< images that no member got when they were due
};

/// The books of a group's images: the last member of each image, its fate, and the images to deal again, in order.
/// Members are numbers below 256; it knows nothing else of them and does not choose them. No thread or lock of its own;
/// only the constructor and room_for() take memory.
class Ledger {
 public:
  explicit Ledger(LedgerConfig config);

  /// Returns a larger ring for images to deal again, with room for all slots of one more member; widen() then installs
  /// it. These are two steps, so that no thread waits for the allocation: other threads may use the ledger during
  /// room_for(), but not during widen().
  [[nodiscard]] std::vector<std::uint32_t> room_for(std::uint32_t slots) const;
  void widen(std::vector<std::uint32_t> room) noexcept;

  /// Returns the first image that no member has had; config().images when all were due.
  [[nodiscard]] std::uint64_t fresh() const noexcept { return counts_.fresh; }
  /// Returns the image to deal again before all others. It drops images that were done meanwhile, and counts those that
  /// have left the window as lost.
  [[nodiscard]] std::optional<std::uint32_t> again() noexcept;
  /// Returns true when any image may be dealt again.
  [[nodiscard]] bool any_again() const noexcept { return again_head_ != again_tail_; }

  /// Deals the image of again() to `member`.
  std::uint32_t give_again(std::size_t member) noexcept {
    const std::uint32_t image = again_[again_head_++ % again_.size()];
    ++counts_.resent;
    give(member, image);
    return image;
  }
  /// Returns the image of again() to its former owner `member`, which has a copy in flight.
  void give_back(std::size_t member) noexcept { give(member, again_[again_head_++ % again_.size()]); }
  /// Deals the first image that no member has had to `member`, or to none.
  std::uint32_t give_fresh(std::size_t member) noexcept {
    const auto image = static_cast<std::uint32_t>(counts_.fresh++);
    give(member, image);
    return image;
  }
  void skip() noexcept;
  /// Records that `member` has finished an image. Returns false when it is a duplicate.
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
  /// Takes `image` back from `member`. It is dealt again, or lost where it has left the window. Returns false when
  /// another member has got it since, or it waits to be dealt already.
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
