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
  std::vector<std::uint32_t> ids;  ///< ids of the DTPs
  std::vector<transfer::DtpSourceStats> dtps;
  double elapsed_s = 0;
  link::Counts card{};  ///< counters of a card; "clock_khz" is 0 for a simulated card, whose cycles are no time
  std::uint64_t triggers = 0, triggers_refused = 0, frames_triggered = 0;
  std::string error{};  ///< reason of an early end; empty when there was none
};

struct Injected {
  std::uint64_t drop = 0, duplicate = 0, reorder = 0, corrupt = 0, stall = 0, dead_images = 0;
};

/// A detector in software (REMU): plays a dataset through DTPs, by one thread for each DTP or by a card. Set-up calls
/// come from one thread, status calls from any.
class Emulator {
 public:
  /// Takes sockets, memory or the card. Throws ConfigError (with the DTP and the reason) or ResourceError; with a card
  /// also FileError and StateError.
  explicit Emulator(Config config);
  ~Emulator();
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  /// Returns for each DTP, in order, the endpoint to which its credits are written.
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const;
  /// Starts all DTPs at the same instant. Throws StateError when already started.
  void start();
  /// Pauses all DTPs at the same frame: before frame `frame`, or behind the foremost frame that a DTP has begun,
  /// whichever is later.
  void pause(std::uint64_t frame = 0);
  /// Resumes. `rate_hz` is the new rate in frames per second; 0 keeps the old one. Throws ConfigError for an invalid
  /// rate, and where the rate is fixed.
  void resume(double rate_hz = 0);
  /// Returns one more than the latest frame number that a DTP has begun; 0 before start(). Call it while the emulator
  /// is paused.
  [[nodiscard]] std::uint64_t begun() const noexcept;
  /// Ends a paused run after `frames` frames; the run resumes up to there. Throws StateError when a later frame was
  /// begun. Not supported with a card, groups, or the fault reorder, which throw StateError, too.
  void end_at(std::uint64_t frames);
  /// Plays `frames` more frames (Trigger::software), the first at once. Throws StateError, and counts it, while frames
  /// of the last trigger are not sent, when no frame is left, and before start().
  void trigger(std::uint64_t frames);
  /// Adds a member with its own DTPs to a group in an active run. The member gets no images until feed() releases it.
  /// Returns the endpoints of its DTPs. Throws StateError when no run is active, ConfigError or ResourceError
  /// otherwise, and then changes nothing.
  std::vector<link::Endpoint> join(const std::string& group, const GroupMember& member,
                                   const std::vector<SourceDtp>& dtps);
  /// Ends everything within a second; idempotent. Any thread; a concurrent call waits for the first one.
  void stop() noexcept;
  /// Waits up to `timeout_s` seconds; returns true when all DTPs are done.
  [[nodiscard]] bool wait(double timeout_s) const;
  /// Logs new losses of the links. The thread that waits for the run calls it several times a second. `last` means that
  /// nothing more will be sent. Any thread; it allocates.
  void observe(bool last = false);
  [[nodiscard]] Status status() const;
  [[nodiscard]] Injected injected() const;
  /// Returns the groups among which images are dealt; null where the emulator cannot deal (a card).
  [[nodiscard]] Groups* groups() const noexcept;
  /// Returns, as text, how the frames were made accessible to an RNIC or a card; empty where that is not needed.
  [[nodiscard]] std::string registration() const;
  /// Returns the completeness that the receiver must find for each image of DTP number `dtp` (position in the list),
  /// from the injector's log.
  [[nodiscard]] std::vector<Completeness> fates(std::size_t dtp) const;

 private:
  [[nodiscard]] std::int64_t run() const noexcept { return run_; }
  /// Returns a DTP as configured.
  [[nodiscard]] transfer::Dtp dtp(std::size_t position) const;
  [[nodiscard]] std::size_t dtps() const;
  /// Makes the frames of a DTP, turned or reduced; a reduced DTP then has the region of its reduced frames.
  void take_frames(SourceDtp& source);
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
  std::atomic<std::uint64_t> frames_{0};   ///< number of frames as far as known
  std::atomic<bool> ended_early_{false};   ///< end_at() was called
  std::atomic<std::int64_t> start_ns_{0};  ///< 0: not started
  mutable std::atomic<std::int64_t> end_ns_{0};
  std::mutex stopping_;
  bool said_end_ = false;  // guarded by stopping_
  std::mutex watching_;
  std::vector<link::CountWatch> watches_;  // by DTP; guarded by watching_
};

}  // namespace rashpa::emulator
