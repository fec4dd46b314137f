// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace rashpa::link {

/// The payload in flight of one sender without acknowledgements. The byte word of the credits opens the window, and the
/// receiver's repeated credits reveal lost bytes (decision 0004). A link that cannot see repeated credits sends one
/// message after each long silence, to find out whether the receiver runs. A stopped receiver has a full socket and
/// gets no more than that (decision 0124). The DTP's thread uses it.
class SenderWindow {
 public:
  /// The silence after which a message is sent as a probe.
  static constexpr std::uint32_t kSilenceUs = 500'000;

  /// Creates the window. `bytes` 0: always open. `silence_us` 0: repeated credits are visible, and no probes are sent.
  SenderWindow(std::uint64_t bytes, std::uint32_t silence_us, std::int64_t now) noexcept
      : bytes_(bytes), silence_ns_(std::int64_t{silence_us} * 1000), last_news_ns_(now) {}

  /// Returns the bytes in flight. Here and below, `known` is the payload bytes that the receiver has reported.
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
  /// Records that packets were sent, so that earlier repeated credits do not count for them.
  void flushed() noexcept { quiet_looks_ = 0; }
  /// Records that the credit words were read. `repeats` is the number of credits so far without a change; always 0
  /// where repeated credits are not visible.
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
  /// Writes off the bytes in flight as lost, when the receiver with an empty socket has repeated its credits since the
  /// last packet. It requires three such readings, since the first may see earlier repetitions. Returns true when that,
  /// or a silence, opened a window that was closed to `message` bytes.
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
