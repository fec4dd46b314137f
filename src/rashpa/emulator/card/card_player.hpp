// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/emulator/card/card_driver.hpp"
#include "rashpa/emulator/card/card_faults.hpp"
#include "rashpa/emulator/card/credit_watch.hpp"
#include "rashpa/emulator/card/frame_feed.hpp"
#include "rashpa/emulator/card/frame_store.hpp"
#include "rashpa/emulator/player.hpp"

namespace rashpa::emulator {

/// A card plays the DTPs, up to 16. Its driver, one thread, makes frames available when they are due, refills card
/// memory behind the frames that all DTPs of a module have read, and keeps the log of sent images.
///
/// - The time in a record is that at which its frame is due; without a rate, that at which it was made available.
/// - on_full = skip: a DTP is given its next frame when the one before is sent or skipped, so that the log knows which.
/// - pause() makes no more frames available than the foremost that a DTP was given: all DTPs stop there. The rate is
///   fixed.
/// - Faults: packets are dropped and corrupted where the card's table of faults says so; all else is refused.
///
/// Keeps the books, and puts together what knows nothing of one another: a CardDriver, a FrameFeed, a CreditWatch.
class CardPlayer final : public Player, public Pausable, public Injecting, public CardCounting {
 public:
  /// Takes the card, fills its memory, and arms it: from here on credits count. `config` outlives it. Throws
  /// ConfigError for a request that a card cannot carry out, FileError and ResourceError when there is none, StateError
  /// when somebody else has it or it refuses.
  CardPlayer(const Config& config, const ModuleFramesStore& frames);
  ~CardPlayer() override;
  CardPlayer(const CardPlayer&) = delete;
  CardPlayer& operator=(const CardPlayer&) = delete;

  [[nodiscard]] std::vector<link::Endpoint> endpoints() const override;
  void start(std::int64_t start_ns, std::uint64_t start_tai_ns) override;
  void pause(std::uint64_t frame) noexcept override { pause_from_.store(frame); }
  void resume(double rate_hz) override;
  void stop() noexcept override;
  [[nodiscard]] bool done() const noexcept override { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] transfer::DtpSourceStats stats(std::size_t dtp) const override;
  [[nodiscard]] link::FaultCounts injected(std::size_t dtp) const noexcept override;
  [[nodiscard]] Completeness fate(std::size_t dtp, std::uint64_t index) const noexcept override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] link::Counts card() const override;
  [[nodiscard]] std::string error() const override;

 private:
  /// One DTP, at the same place in the card's table.
  struct Dtp {
    explicit Dtp(const transfer::Dtp& of) : dtp(of), sent(of.images) {}
    [[nodiscard]] std::uint64_t next() const noexcept { return images_sent + images_skipped; }
    [[nodiscard]] bool ended() const noexcept { return next() >= dtp.images; }
    [[nodiscard]] log::Where where(std::uint64_t image) const noexcept {
      return {.run = dtp.run, .dtp = dtp.id, .frame = static_cast<std::int64_t>(dtp.slice.frame(image))};
    }

    const transfer::Dtp& dtp;
    link::Endpoint endpoint{};
    CardFaults faults{};
    CompletenessTable sent;  ///< complete: its event has left; missing: skipped
    // Released by the thread of the driver, acquired by a status; `packets` and `bytes` are relaxed.
    std::atomic<std::uint64_t> images_sent{0}, images_skipped{0}, packets{0}, bytes{0};  // the driver counts
    // relaxed: the thread of the driver raises it, and a status reads this word alone
    std::atomic<std::int64_t> late_ns{0};
  };
  /// Brings frames from the feed to memory and doorbells.
  class Outlet final : public FrameOutlet {
   public:
    explicit Outlet(CardPlayer& player) : player_(player) {}
    void put(std::size_t module, std::uint64_t frame, std::optional<std::int64_t> at_ns) override;
    void make_available(std::size_t dtp, std::uint64_t frames) override;

   private:
    CardPlayer& player_;
  };

  void set_up(const ModuleFramesStore& frames);
  card::registers::DtpTable table(const SourceDtp& source, Dtp& ours, const link::fpga::FrameRing& ring) const;
  void drive(const std::stop_token& stop);
  [[nodiscard]] bool ended();
  void look();
  void look_at(std::size_t place);
  void look_at_counters();
  void feed();
  [[nodiscard]] std::uint32_t nap_us() const noexcept;
  void fail(const std::string& why);

  const Config& config_;
  CardDriver driver_;
  std::vector<std::unique_ptr<Dtp>> dtps_;
  std::optional<FrameStore> store_;
  std::optional<FrameFeed> feed_;
  CreditWatch credits_;
  bool skips_;
  std::int64_t start_ns_ = 0;
  std::uint64_t start_tai_ns_ = 0;
  std::int64_t counters_read_ns_ = 0;
  log::Limiter skipping_;
  mutable std::mutex said_;
  link::Counts counts_;                                       // guarded by said_
  std::string error_;                                         // guarded by said_
  std::atomic<std::uint64_t> pause_from_{transfer::kNoHold};  // as was asked
  std::atomic<bool> done_{false};  // release by the player, acquire by its owner: all counters are final
  std::jthread thread_;
};

/// Makes that player. Throws as its constructor, and ConfigError where the build leaves cards out.
std::unique_ptr<Player> make_card_player(const Config& config, const ModuleFramesStore& frames);

}  // namespace rashpa::emulator
