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

/// Plays up to 16 DTPs by a card. Its driver thread makes frames available when they are due, refills card memory
/// behind the frames that all DTPs of a module have read, and logs sent images.
/// - The time in a record is the due time of the frame; without a rate, the time at which it was made available.
/// - on_full = skip: a DTP gets its next frame when the one before is sent or skipped, so that the log knows which.
/// - pause() makes no frames available beyond the foremost frame of any DTP: all DTPs stop there. The rate is fixed.
/// - Faults: packets are dropped and corrupted as the card's table of faults says; all other faults are refused.
/// Keeps the books and connects a CardDriver, a FrameFeed and a CreditWatch, which do not know one another.
class CardPlayer final : public Player, public Pausable, public Injecting, public CardCounting {
 public:
  /// Reserves the card, fills its memory, and arms it; credits count from then on. `config` outlives it. Throws
  /// ConfigError for a request that a card cannot carry out, FileError and ResourceError when there is no card,
  /// StateError when another owner has it or it refuses.
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
  /// A DTP of the player, at the same place as in the card's table.
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
    CompletenessTable sent;  ///< complete: its event was sent; missing: the image was skipped
    // Released by the thread of the driver, acquired by a status; `packets` and `bytes` are relaxed.
    std::atomic<std::uint64_t> images_sent{0}, images_skipped{0}, packets{0}, bytes{0};  // the driver counts
    // relaxed: the thread of the driver raises it, and a status reads this word alone
    std::atomic<std::int64_t> late_ns{0};
  };
  /// Passes frames from the feed to card memory and doorbells.
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

/// Makes a CardPlayer. Throws as its constructor, and ConfigError where the build leaves cards out.
std::unique_ptr<Player> make_card_player(const Config& config, const ModuleFramesStore& frames);

}  // namespace rashpa::emulator
