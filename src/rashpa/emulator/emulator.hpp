// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/books.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/link/count_watch.hpp"
#include "rashpa/link/factory/factory.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

/// One DTP of the emulated detector and where it goes.
struct SourceDtp {
  transfer::Dtp dtp;
  link::Endpoint destination;
};

/// Everything that is injected, seeded and logged (docs/explanations/books.md). Probabilities are per packet; `stall`
/// per image of a DTP.
struct FaultPlan {
  std::uint64_t seed = 0;
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  double stall = 0;
  std::uint32_t stall_us = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> dead_modules;  ///< (module, first frame that is not sent)
  [[nodiscard]] bool packets() const noexcept { return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0; }
};

struct Config {
  std::shared_ptr<const dataset::Dataset> dataset;
  std::vector<SourceDtp> dtps;
  link::LinkOptions link{};               ///< of this side
  std::string destination_link = "roce";  ///< of the other side: roce, verbs or pcie
  std::string bind_address = "127.0.0.1";
  std::uint64_t frames = 0;  ///< frame numbers 0 … frames−1 exist
  double rate_hz = 0;        ///< 0: as fast as flow allows
  link::Flow flow = link::Flow::credits;
  transfer::OnFull on_full = transfer::OnFull::pause;
  FaultPlan faults{};
  int first_processor = -1;
};

enum class State : std::uint8_t { configured, running, finished, stopped };

struct Status {
  State state = State::configured;
  std::vector<transfer::DtpSourceStats> dtps;
  double elapsed_s = 0;
};

struct Injected {
  std::uint64_t drop = 0, duplicate = 0, reorder = 0, corrupt = 0, stall = 0, dead_images = 0;
};

/// A detector in software (REMU): plays a dataset through DTPs, one thread each. Set-up calls from one thread; status
/// calls from any.
class Emulator {
 public:
  /// Takes sockets and memory; throws ConfigError (with the DTP and the reason) or ResourceError.
  explicit Emulator(Config config);
  ~Emulator();
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  /// One per DTP, in order: where its credits are to be written.
  [[nodiscard]] std::vector<link::Endpoint> endpoints() const;
  /// Starts all DTPs at the same instant. Throws StateError when already started.
  void start();
  void pause(bool paused);
  /// Ends all threads within a second; idempotent. Any thread; a call that finds another one at it waits for it.
  void stop() noexcept;
  /// True when all DTPs are done within `timeout_s`.
  [[nodiscard]] bool wait(double timeout_s) const;
  /// Says in the log what the links have lost since the last time; for who waits for the run, several times a second.
  /// `last`: nothing more will be sent. Any thread; it allocates.
  void observe(bool last = false);
  [[nodiscard]] Status status() const;
  [[nodiscard]] Injected injected() const;
  /// How the frames were made usable by an RNIC, in words; empty with links that need no such thing.
  [[nodiscard]] std::string registration() const;
  /// What the receiver must find of each image of DTP number `dtp` (position in the list), by the injector's log.
  [[nodiscard]] std::vector<Completeness> fates(std::size_t dtp) const;

 private:
  class Player;
  [[nodiscard]] std::int64_t run() const noexcept { return config_.dtps.front().dtp.run; }

  Config config_;
  std::unique_ptr<link::Senders> links_;
  std::vector<std::unique_ptr<Player>> players_;
  std::atomic<std::int64_t> start_ns_{0};  ///< 0: not started
  mutable std::atomic<std::int64_t> end_ns_{0};
  std::mutex stopping_;
  bool said_end_ = false;  // guarded by stopping_
  std::mutex watching_;
  std::vector<link::CountWatch> watches_;  // by DTP; guarded by watching_
};

}  // namespace rashpa::emulator
