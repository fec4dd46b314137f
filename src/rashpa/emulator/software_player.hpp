// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/emulator/groups.hpp"
#include "rashpa/emulator/player.hpp"
#include "rashpa/link/factory/factory.hpp"

namespace rashpa::emulator {

/// Plays DTPs in software, each with its own thread and link.
class SoftwarePlayer final : public Player, public Pausable, public Endable, public Injecting, public Dealing {
 public:
  /// Makes the threads' links. `config`, `frames` and `gate` outlive it.
  SoftwarePlayer(const Config& config, const ModuleFramesStore& frames, const transfer::TriggerGate* gate = nullptr);
  ~SoftwarePlayer() override;
  SoftwarePlayer(const SoftwarePlayer&) = delete;
  SoftwarePlayer& operator=(const SoftwarePlayer&) = delete;

  [[nodiscard]] std::vector<link::Endpoint> endpoints() const override;
  void start(std::int64_t start_ns, std::uint64_t start_tai_ns) override;
  void pause(std::uint64_t frame) noexcept override;
  void resume(double rate_hz) override;
  [[nodiscard]] std::uint64_t begun() const noexcept override;
  void end_at(std::uint64_t frames) noexcept override;
  void stop() noexcept override;
  [[nodiscard]] bool done() const noexcept override;
  [[nodiscard]] transfer::DtpSourceStats stats(std::size_t dtp) const override;
  [[nodiscard]] link::FaultCounts injected(std::size_t dtp) const noexcept override;
  [[nodiscard]] Completeness fate(std::size_t dtp, std::uint64_t index) const noexcept override;
  [[nodiscard]] Groups& groups() const noexcept override { return *groups_; }
  std::vector<link::Endpoint> join(const std::string& group, const GroupMember& member,
                                   std::span<const SourceDtp> dtps) override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::string error() const override { return groups_->error(); }

 private:
  class DtpThread;
  void hold(std::uint64_t frame) noexcept;
  [[nodiscard]] std::uint64_t foremost() const noexcept;

  [[nodiscard]] std::unique_ptr<DtpThread> make(const SourceDtp& source, std::size_t position);
  [[nodiscard]] const DtpThread& at(std::size_t dtp) const;

  const Config& config_;
  const ModuleFramesStore& frames_;
  const transfer::TriggerGate* gate_;
  std::int64_t start_ns_ = 0;
  std::uint64_t start_tai_ns_ = 0;
  using Ends = std::pair<link::Kind, link::Kind>;  // of this side and of the other one
  std::map<Ends, std::unique_ptr<link::Senders>> links_;
  std::unique_ptr<Groups> groups_;
  mutable std::shared_mutex joining_;
  std::vector<std::unique_ptr<DtpThread>> dtps_;  // guarded by joining_
  mutable std::mutex pausing_;
  std::uint64_t held_ = transfer::kNoHold;  // guarded by pausing_
  std::optional<transfer::Pace> pace_{};    // the latest that was set; guarded by pausing_
};

}  // namespace rashpa::emulator
