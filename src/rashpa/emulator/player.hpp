// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The engine of an emulator, which plays its DTPs. Threads of this process do (software_player.hpp), or a card does
/// (card_player.hpp); nothing above knows which.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/emulator/config.hpp"
#include "rashpa/emulator/module_frames.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

class Groups;

/// Plays all DTPs of one emulator. DTPs are named by their position in Config::dtps. start() and stop() are called by
/// one thread at a time, all that is const by any. The classes below it are abilities of only some players: the
/// emulator asks for them once (core/ability.hpp).
class Player {
 public:
  virtual ~Player() = default;
  /// One per DTP: where its credits are to be written.
  [[nodiscard]] virtual std::vector<link::Endpoint> endpoints() const = 0;
  /// Starts the player; called once. Frame 0 is due at `start_ns` (monotonic), which is `start_tai_ns` in records. May
  /// throw StateError.
  virtual void start(std::int64_t start_ns, std::uint64_t start_tai_ns) = 0;
  /// Ends everything within a second; nothing is sent when it returns. Idempotent.
  virtual void stop() noexcept = 0;
  /// Returns true when nothing more will be sent.
  [[nodiscard]] virtual bool done() const noexcept = 0;
  [[nodiscard]] virtual transfer::DtpSourceStats stats(std::size_t dtp) const = 0;
  /// Returns how it plays, in words for the log.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns why it ended before its time, in words; empty when it did not.
  [[nodiscard]] virtual std::string error() const = 0;
};

/// Holds frames back, and lets them go on.
class Pausable {
 public:
  virtual ~Pausable() = default;
  /// No frame from number `frame` on is begun until it goes on, nor one behind the foremost that a DTP has begun: the
  /// others follow up to there, so that no image is left half sent. Any thread.
  virtual void pause(std::uint64_t frame) noexcept = 0;
  /// `rate_hz`: frames a second from now on, and the first frame that is held is due now; 0 keeps the rate. Any thread.
  /// Throws ConfigError where the rate is fixed; it is still paused then.
  virtual void resume(double rate_hz) = 0;
};

/// Plays runs with an open end.
class Endable {
 public:
  virtual ~Endable() = default;
  /// The number of frames up to the latest that a DTP has begun. Call it while the player is paused.
  [[nodiscard]] virtual std::uint64_t begun() const noexcept = 0;
  /// Ends the run after `frames` frames, at least begun(). Call it while the player is paused.
  virtual void end_at(std::uint64_t frames) noexcept = 0;
};

/// Injects faults, and knows what they do to each image.
class Injecting {
 public:
  virtual ~Injecting() = default;
  [[nodiscard]] virtual link::FaultCounts injected(std::size_t dtp) const noexcept = 0;
  /// The fate that the receiver must find for image `index`: as Emulator::fates().
  [[nodiscard]] virtual Completeness fate(std::size_t dtp, std::uint64_t index) const noexcept = 0;
};

/// Deals images among the members of groups.
class Dealing {
 public:
  virtual ~Dealing() = default;
  [[nodiscard]] virtual Groups& groups() const noexcept = 0;
  /// One more member of a group, with DTPs of its own, behind all others (Emulator::join). Not together with start() or
  /// stop(). Throws ConfigError or ResourceError; then it is as before.
  virtual std::vector<link::Endpoint> join(const std::string& group, const GroupMember& member,
                                           std::span<const SourceDtp> dtps) = 0;
};

/// Has a card that counts for itself.
class CardCounting {
 public:
  virtual ~CardCounting() = default;
  /// The card's counters of the run (docs/how-to/use_a_card.md).
  [[nodiscard]] virtual link::Counts card() const = 0;
};

/// The player that `config` asks for; `config`, `frames` and `gate` outlive it. `gate`: null unless triggers let frames
/// through. Takes sockets, memory, the card. Throws ConfigError, ResourceError, and of a card FileError or StateError.
std::unique_ptr<Player> make_player(const Config& config, const ModuleFramesStore& frames,
                                    const transfer::TriggerGate* gate = nullptr);

}  // namespace rashpa::emulator
