// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/emulator/config.hpp"
#include "rashpa/link/count_watch.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

class Groups;
class ModuleFramesStore;
class CardCounting;
class Dealing;
class Endable;
class Injecting;
class Pausable;
class Player;

enum class State : std::uint8_t { configured, running, finished, stopped };

struct Status {
  State state = State::configured;
  std::vector<std::uint32_t> ids;  ///< of the DTPs
  std::vector<transfer::DtpSourceStats> dtps;
  double elapsed_s = 0;
  link::Counts card{};  ///< counts of a card; "clock_khz" is 0 of a simulated one, since its cycles are no time
  std::uint64_t triggers = 0, triggers_refused = 0, frames_triggered = 0;
  std::string error{};  ///< why it ended before its time; empty when it did not
};

struct Injected {
  std::uint64_t drop = 0, duplicate = 0, reorder = 0, corrupt = 0, stall = 0, dead_images = 0;
};

/// A detector in software (REMU): plays a dataset through DTPs, by a thread for each, or by a card. Set-up calls from
/// one thread; status calls from any.
class Emulator {
 public:
  /// Takes sockets, memory, the card; throws ConfigError (with the DTP and the reason) or ResourceError, of a card also
  /// FileError and StateError.
  explicit Emulator(Config config);
  ~Emulator();
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  /// One per DTP, in order: where its credits are to be written.
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const;
  /// Starts all DTPs at the same instant. Throws StateError when already started.
  void start();
  /// Pauses before frame `frame`, or behind the foremost frame that a DTP has begun, whichever is later. All DTPs pause
  /// at the same frame.
  void pause(std::uint64_t frame = 0);
  /// `rate_hz`: frames a second from now on; 0: as before. Throws ConfigError for a wrong rate, and where it is
  /// fixed.
  void resume(double rate_hz = 0);
  /// The number of frames up to the latest that a DTP has begun; 0 before start(). Call it while the emulator is
  /// paused.
  [[nodiscard]] std::uint64_t begun() const noexcept;
  /// Ends a paused run after `frames` frames: it goes on until there. Throws StateError when a later frame was
  /// begun, and of a card, with groups, or with the fault reorder.
  void end_at(std::uint64_t frames);
  /// Takes `frames` more frames (Trigger::software), the first at once. Throws StateError, and counts it, while
  /// frames of the trigger before are not sent, when no frame is left, or when it is not started.
  void trigger(std::uint64_t frames);
  /// One more member of a group in a run that goes on, with DTPs of its own, behind all others; it is held until it is
  /// fed. Its DTPs' endpoints. Throws StateError when nothing goes on, ConfigError or ResourceError; then all is as
  /// before.
  std::vector<link::Endpoint> join(const std::string& group, const GroupMember& member,
                                   const std::vector<SourceDtp>& dtps);
  /// Ends everything within a second; idempotent. Any thread; a call that finds another one at it waits for it.
  void stop() noexcept;
  /// Returns true when all DTPs are done within `timeout_s`.
  [[nodiscard]] bool wait(double timeout_s) const;
  /// Logs what the links have lost since the last time; for a thread that waits for the run, several times a
  /// second. `last`: nothing more will be sent. Any thread; it allocates.
  void observe(bool last = false);
  [[nodiscard]] Status status() const;
  [[nodiscard]] Injected injected() const;
  /// The groups among which it deals images; null where it cannot (a card).
  [[nodiscard]] Groups* groups() const noexcept;
  /// Returns how the frames were made usable by an RNIC or a card, in words; empty where nothing needs that.
  [[nodiscard]] std::string registration() const;
  /// The fate that the receiver must find for each image of DTP number `dtp` (position in the list), by the injector's
  /// log.
  [[nodiscard]] std::vector<Completeness> fates(std::size_t dtp) const;

 private:
  [[nodiscard]] std::int64_t run() const noexcept { return run_; }
  /// A DTP, as it was configured.
  [[nodiscard]] transfer::Dtp dtp(std::size_t position) const;
  [[nodiscard]] std::size_t dtps() const;
  [[nodiscard]] static link::CountWatch watch_of(const SourceDtp& source);

  Config config_;
  std::int64_t run_ = 0;
  mutable std::shared_mutex joining_;  // of config_.dtps
  transfer::TriggerGate gate_;
  std::unique_ptr<ModuleFramesStore> store_;
  std::unique_ptr<Player> player_;
  Pausable* pausable_ = nullptr;  // these five: further abilities of the player; null: it lacks them
  Endable* endable_ = nullptr;
  const Injecting* injecting_ = nullptr;
  Dealing* dealing_ = nullptr;
  const CardCounting* card_ = nullptr;
  std::mutex triggering_;
  std::atomic<std::uint64_t> triggers_{0}, triggers_refused_{0};
  std::atomic<std::uint64_t> frames_{0};   ///< as far as is known
  std::atomic<bool> ended_early_{false};   ///< end_at() was called
  std::atomic<std::int64_t> start_ns_{0};  ///< 0: not started
  mutable std::atomic<std::int64_t> end_ns_{0};
  std::mutex stopping_;
  bool said_end_ = false;  // guarded by stopping_
  std::mutex watching_;
  std::vector<link::CountWatch> watches_;  // by DTP; guarded by watching_
};

}  // namespace rashpa::emulator
