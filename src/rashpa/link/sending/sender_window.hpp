// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace rashpa::link {

/// Payload in flight of one sender whose packets are not acknowledged one by one. The byte word of the credits opens
/// it, and the receiver's repetitions reveal lost bytes (decision 0004). Where a link cannot see them, one message goes
/// after each long silence: it finds out whether the receiver runs. One that stands still has a full socket, and is
/// sent nothing more than that (decision 0124). Used by the DTP's thread.
class SenderWindow {
 public:
  /// Silence after which a message asks for news.
  static constexpr std::uint32_t kSilenceUs = 500'000;

  /// `bytes` 0: always open. `silence_us` 0: repetitions can be seen, and nothing else is waited for.
  SenderWindow(std::uint64_t bytes, std::uint32_t silence_us, std::int64_t now) noexcept
      : bytes_(bytes), silence_ns_(std::int64_t{silence_us} * 1000), last_news_ns_(now) {}

  /// `known`: payload bytes that the receiver says have come, here and below.
  [[nodiscard]] std::uint64_t in_flight(std::uint64_t known) const noexcept {
    const std::uint64_t left = sent_ - std::min(known, sent_);  // a word of the other side's, of any value
    return left - std::min(written_off_, left);
  }
  /// Returns true when the window has room for `more` bytes. It always has room for one message when nothing is in
  /// flight.
  [[nodiscard]] bool open(std::uint64_t more, std::uint64_t known) const noexcept {
    if (bytes_ == 0) return true;
    const std::uint64_t flying = in_flight(known);
    return flying == 0 || flying + more <= bytes_;
  }
  void sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
  /// Packets have left: earlier repetitions say nothing of them.
  void flushed() noexcept { quiet_looks_ = 0; }
  /// The words were looked at. `repeats`: credits so far that said nothing new; always 0 where nobody can see them.
  void looked(std::uint64_t known, std::uint64_t repeats, std::int64_t now) noexcept {
    if (repeats != repeats_) ++quiet_looks_;
    repeats_ = repeats;
    if (known == known_) return;
    known_ = known;
    last_news_ns_ = now;
    quiet_looks_ = 0;
    // The receiver runs: packets sent before the question have come by now, or are lost.
    if (asked_at_ != 0) written_off_ = asked_at_ > known ? asked_at_ - known : 0;
    asked_at_ = 0;
    // Bytes taken for lost came after all (or came twice): forget the part that the words now explain.
    written_off_ = known >= sent_ ? 0 : std::min(written_off_, sent_ - known);
  }
  /// Bytes in flight are lost when the receiver, its socket empty, has repeated itself since the last packet left; the
  /// first such look may find repetitions from before, hence three. True when that, or a silence, opened a window that
  /// was closed to `message` bytes.
  bool write_off(std::uint64_t message, std::uint64_t known, std::int64_t now) noexcept {
    if (bytes_ == 0 || in_flight(known) == 0) return false;
    const bool quiet = quiet_looks_ >= kQuietLooks;
    const bool silent = silence_ns_ != 0 && now - last_news_ns_ >= silence_ns_;
    if (!quiet && !silent) return false;
    const bool closed = !open(message, known);
    last_news_ns_ = now;
    quiet_looks_ = 0;
    if (quiet) {
      written_off_ = sent_ > known ? sent_ - known : 0;
    } else if (closed) {
      if (asked_at_ == 0) asked_at_ = sent_;
      const std::uint64_t flying = in_flight(known);
      written_off_ += std::min(flying, flying + message - bytes_);
    }
    return closed;
  }

 private:
  static constexpr unsigned kQuietLooks = 3;
  std::uint64_t bytes_;
  std::int64_t silence_ns_;
  std::int64_t last_news_ns_;
  std::uint64_t sent_ = 0;
  std::uint64_t known_ = 0;        // at the last look
  std::uint64_t written_off_ = 0;  // bytes taken as lost
  std::uint64_t repeats_ = 0;      // at the last look
  std::uint64_t asked_at_ = 0;     // the bytes sent when a message asked the receiver; 0: none did
  unsigned quiet_looks_ = 0;       // since the last packet or news that found the receiver repeating itself
};

}  // namespace rashpa::link
