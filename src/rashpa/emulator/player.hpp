// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The engine of an emulator, which plays its DTPs: threads of this process (software_player.hpp) or a card
/// (card_player.hpp). The layers above do not know which.
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

/// Plays all DTPs of one emulator, named by their position in Config::dtps. One thread at a time calls start() and
/// stop(); any thread calls const functions. The classes below are abilities of only some players: the emulator asks
/// for each once (core/ability.hpp).
class Player {
 public:
  virtual ~Player() = default;
  /// Returns for each DTP the endpoint to which its credits are written.
  [[nodiscard]] virtual std::vector<link::Endpoint> endpoints() const = 0;
  /// Starts the player; called once. Frame 0 is due at `start_ns` (monotonic), which equals `start_tai_ns` in records.
  /// May throw StateError.
  virtual void start(std::int64_t start_ns, std::uint64_t start_tai_ns) = 0;
  /// Ends everything within a second; nothing is sent after it returns. Idempotent.
  virtual void stop() noexcept = 0;
  /// Returns true when nothing more will be sent.
  [[nodiscard]] virtual bool done() const noexcept = 0;
  [[nodiscard]] virtual transfer::DtpSourceStats stats(std::size_t dtp) const = 0;
  /// Returns a description of the player for the log.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns why the player ended early; empty when it did not.
  [[nodiscard]] virtual std::string error() const = 0;
};

/// Pauses and resumes frames.
class Pausable {
 public:
  virtual ~Pausable() = default;
  /// Holds all frames from number `frame` on, but lets DTPs complete the images that another DTP has begun, so that no
  /// image is sent in part. Any thread.
  virtual void pause(std::uint64_t frame) noexcept = 0;
  /// Resumes. `rate_hz` is the new rate in frames per second, and makes the first held frame due now; 0 keeps the rate.
  /// Any thread. Throws ConfigError where the rate is fixed, and stays paused then.
  virtual void resume(double rate_hz) = 0;
};

/// Plays runs with an open end.
class Endable {
 public:
  virtual ~Endable() = default;
  /// Returns one more than the latest frame number that a DTP has begun. Call it while the player is paused.
  [[nodiscard]] virtual std::uint64_t begun() const noexcept = 0;
  /// Ends the run after `frames` frames, at least begun(). Call it while the player is paused.
  virtual void end_at(std::uint64_t frames) noexcept = 0;
};

/// Injects faults, and knows their effect on each image.
class Injecting {
 public:
  virtual ~Injecting() = default;
  [[nodiscard]] virtual link::FaultCounts injected(std::size_t dtp) const noexcept = 0;
  /// Returns the completeness that the receiver must find for image `index`, as Emulator::fates() does.
  [[nodiscard]] virtual Completeness fate(std::size_t dtp, std::uint64_t index) const noexcept = 0;
};

/// Deals images among the members of groups.
class Dealing {
 public:
  virtual ~Dealing() = default;
  [[nodiscard]] virtual Groups& groups() const noexcept = 0;
  /// Adds a member with its own DTPs to a group (Emulator::join). Never concurrent with start() or stop(). Throws
  /// ConfigError or ResourceError, and then changes nothing.
  virtual std::vector<link::Endpoint> join(const std::string& group, const GroupMember& member,
                                           std::span<const SourceDtp> dtps) = 0;
};

/// Provides the counters of a card.
class CardCounting {
 public:
  virtual ~CardCounting() = default;
  /// Returns the card's counters of the run (docs/how-to/use_a_card.md).
  [[nodiscard]] virtual link::Counts card() const = 0;
};

/// Makes the player for `config`; `config`, `frames` and `gate` outlive it. `gate` is null unless triggers release
/// frames. Takes sockets, memory or the card. Throws ConfigError or ResourceError; with a card also FileError or
/// StateError.
std::unique_ptr<Player> make_player(const Config& config, const ModuleFramesStore& frames,
                                    const transfer::TriggerGate* gate = nullptr);

}  // namespace rashpa::emulator
