#pragma once
#include <algorithm>
#include <cstdint>

#include "rashpa/link/roce/credits/credits.hpp"

namespace rashpa::link::roce {

/// Payload in flight of one sender whose packets are not acknowledged one by one (UC, UD): opened by the byte word of
/// the credits, and by what the receiver's repetitions say about lost bytes. Used by the DTP's thread.
class SenderWindow {
 public:
  /// `bytes` 0: always open. `timeout_us`: after so long a silence the bytes in flight are taken as lost.
  SenderWindow(std::uint64_t bytes, std::uint32_t timeout_us, std::int64_t now) noexcept
      : bytes_(bytes), timeout_ns_(std::int64_t{timeout_us} * 1000), last_news_ns_(now) {}

  [[nodiscard]] std::uint64_t in_flight(const CreditWords& known) const noexcept {
    const std::uint64_t gone = written_off_ + known.bytes;
    return sent_ > gone ? sent_ - gone : 0;
  }
  /// One message is always allowed when nothing flies.
  [[nodiscard]] bool open(std::uint64_t more, const CreditWords& known) const noexcept {
    if (bytes_ == 0) return true;
    const std::uint64_t flying = in_flight(known);
    return flying == 0 || flying + more <= bytes_;
  }
  void sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
  /// Packets have left: what was repeated before says nothing of them.
  void flushed() noexcept { quiet_looks_ = 0; }
  /// The words were looked at. `repeats`: credits so far that said nothing new.
  void looked(const CreditWords& before, const CreditWords& now, std::uint64_t repeats, std::int64_t now_ns) noexcept;
  /// Bytes in flight are lost when the receiver, its socket empty, has repeated itself since the last packet left; the
  /// first such look may find repetitions from before, hence three. Or when it has been silent for very long. True when
  /// that opened a window that was closed to `message` bytes.
  bool write_off(std::uint64_t message, const CreditWords& known, std::int64_t now_ns) noexcept;

 private:
  static constexpr unsigned kQuietLooks = 3;
  std::uint64_t bytes_;
  std::int64_t timeout_ns_;
  std::int64_t last_news_ns_;
  std::uint64_t sent_ = 0;
  std::uint64_t written_off_ = 0;  // bytes taken as lost
  std::uint64_t repeats_ = 0;      // at the last look
  unsigned quiet_looks_ = 0;       // since the last packet or news that found the receiver repeating itself
};

inline void SenderWindow::looked(const CreditWords& before, const CreditWords& now, std::uint64_t repeats,
                                 std::int64_t now_ns) noexcept {
  if (repeats != repeats_) ++quiet_looks_;
  repeats_ = repeats;
  if (now.bytes == before.bytes) return;
  last_news_ns_ = now_ns;
  quiet_looks_ = 0;
  // What was taken for lost came after all (or came twice): forget the part that the words now explain.
  written_off_ = now.bytes >= sent_ ? 0 : std::min(written_off_, sent_ - now.bytes);
}

inline bool SenderWindow::write_off(std::uint64_t message, const CreditWords& known, std::int64_t now_ns) noexcept {
  if (bytes_ == 0 || in_flight(known) == 0) return false;
  if (quiet_looks_ < kQuietLooks && now_ns - last_news_ns_ < timeout_ns_) return false;
  const bool closed = !open(message, known);
  written_off_ = sent_ > known.bytes ? sent_ - known.bytes : 0;
  last_news_ns_ = now_ns;
  quiet_looks_ = 0;
  return closed;
}

}  // namespace rashpa::link::roce
