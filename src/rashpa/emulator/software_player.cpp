// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/software_player.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/transfer/pace.hpp"

namespace rashpa::emulator {

namespace {

// The link is chosen here and nowhere else.
link::EndOptions end_options(const Config& config, const SourceDtp& source) {
  return {.link = source.link ? source.link->link : config.link,
          .peer = link::kind_of(source.link ? source.link->destination_link : config.destination_link),
          .address = config.bind_address,
          .flow = config.flow};
}

std::optional<link::FaultConfig> packet_faults(const FaultPlan& plan) {
  if (!plan.packets()) return std::nullopt;
  return link::FaultConfig{.seed = plan.seed,
                           .drop = plan.drop,
                           .duplicate = plan.duplicate,
                           .reorder = plan.reorder,
                           .corrupt = plan.corrupt};
}

}  // namespace

/// One DTP with its link and its thread.
class SoftwarePlayer::DtpThread final : public transfer::FrameSource {
 public:
  DtpThread(const Config& config, const SourceDtp& source, const ModuleFrames& frames, link::Senders& links,
            transfer::Dealer::Port* dealt, int processor, const transfer::TriggerGate* gate)
      : frames_(frames),
        link_(links.make({.destination = source.destination,
                          .id = source.dtp.id,
                          .images = most_images(source.dtp.images, dealt != nullptr),
                          .payload_bytes = source.dtp.placement.payload_bytes(),
                          .slots = source.dtp.placement.slots,
                          .events = source.dtp.placement.parts()})),
        injecting_(able<const link::Injecting>(*link_)),
        dtp_(dtp_config(config, source, frames.shape(), processor, gate), *this, *link_, dealt) {}

  [[nodiscard]] const std::byte* frame(std::uint64_t frame) const noexcept override {
    return frames_.frame(frame % frames_.frames());
  }
  [[nodiscard]] std::uint64_t frames() const noexcept override { return frames_.frames(); }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept override {
    return frames_.flags(frame % frames_.frames());
  }
  void start(std::int64_t start_ns, std::uint64_t tai) {
    thread_ = std::jthread([this, start_ns, tai](const std::stop_token& stop) { dtp_.run(stop, start_ns, tai); });
  }
  void request_stop() noexcept { thread_.request_stop(); }
  void join() noexcept {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] Completeness fate(std::uint64_t index) const noexcept {
    const Completeness sent = dtp_.sent(index);
    if (sent != Completeness::complete) return sent;
    const link::Fates* const fates = injecting_ == nullptr ? nullptr : injecting_->fates();
    return fates == nullptr ? Completeness::complete : fates->fate(index);
  }
  [[nodiscard]] link::FaultCounts injected() const noexcept {
    return injecting_ == nullptr ? link::FaultCounts{} : injecting_->injected();
  }
  transfer::DtpSource& dtp() noexcept { return dtp_; }
  [[nodiscard]] const transfer::DtpSource& dtp() const noexcept { return dtp_; }
  [[nodiscard]] const link::Sender& link() const noexcept { return *link_; }

 private:
  static transfer::DtpSourceConfig dtp_config(const Config& config, const SourceDtp& source,
                                              const dataset::ModuleShape& shape, int processor,
                                              const transfer::TriggerGate* gate) {
    transfer::DtpSourceConfig out{};
    out.dtp = source.dtp;
    out.pitch_bytes = shape.pitch_bytes();
    out.pixel_bytes = pixel_bytes(shape.pixel);
    out.rate_hz = config.rate_hz;
    out.times = config.times.get();
    out.on_full = config.on_full;
    out.faults.seed = config.faults.seed;
    out.faults.stall = config.faults.stall;
    out.faults.stall_us = config.faults.stall_us;
    for (const auto& [module, first] : config.faults.dead_modules) {
      if (module == source.dtp.module) out.faults.dead_from = first;
    }
    out.processor = processor;
    out.gate = gate;
    return out;
  }

  ModuleFrames frames_;
  std::unique_ptr<link::Sender> link_;
  const link::Injecting* injecting_;  // the link, where it injects faults
  transfer::DtpSource dtp_;
  std::jthread thread_;
};

SoftwarePlayer::SoftwarePlayer(const Config& config, const ModuleFramesStore& frames, const transfer::TriggerGate* gate)
    : config_(config), frames_(frames), gate_(gate), groups_(std::make_unique<Groups>(config)) {
  for (std::size_t i = 0; i < config.dtps.size(); ++i) dtps_.push_back(make(config.dtps[i], i));
}

SoftwarePlayer::~SoftwarePlayer() { stop(); }

std::unique_ptr<SoftwarePlayer::DtpThread> SoftwarePlayer::make(const SourceDtp& source, std::size_t position) {
  const link::EndOptions end = end_options(config_, source);
  std::unique_ptr<link::Senders>& links = links_[{link::kind_of(end.link), end.peer}];
  if (links == nullptr) links = std::make_unique<link::Senders>(end, frames_.memory(), packet_faults(config_.faults));
  const int processor = config_.first_processor < 0 ? -1 : config_.first_processor + static_cast<int>(position);
  transfer::Dealer::Port* dealt = groups_->port(source.dtp.id);
  return std::make_unique<DtpThread>(config_, source, frames_.of(source.dtp), *links, dealt, processor, gate_);
}

std::vector<link::Endpoint> SoftwarePlayer::join(const std::string& group, const GroupMember& member,
                                                 std::span<const SourceDtp> dtps) {
  groups_->join(group, member, dtps);
  std::vector<std::unique_ptr<DtpThread>> made;
  std::vector<link::Endpoint> ends;
  try {
    for (const SourceDtp& source : dtps) {
      made.push_back(make(source, dtps_.size() + made.size()));
      ends.push_back(made.back()->link().endpoint());
    }
    const std::lock_guard pausing(pausing_);
    const std::unique_lock lock(joining_);
    dtps_.reserve(dtps_.size() + made.size());
    for (auto& dtp : made) {
      dtp->dtp().hold(held_);
      if (pace_) dtp->dtp().set_pace(*pace_);
      dtp->start(start_ns_, start_tai_ns_);
    }
    std::move(made.begin(), made.end(), std::back_inserter(dtps_));
  } catch (...) {
    made.clear();
    groups_->withdraw(group, member);
    throw;
  }
  return ends;
}

const SoftwarePlayer::DtpThread& SoftwarePlayer::at(std::size_t dtp) const {
  const std::shared_lock lock(joining_);
  return *dtps_[dtp];
}

std::vector<link::Endpoint> SoftwarePlayer::endpoints() const {
  const std::shared_lock lock(joining_);
  std::vector<link::Endpoint> all;
  for (const auto& dtp : dtps_) all.push_back(dtp->link().endpoint());
  return all;
}

void SoftwarePlayer::start(std::int64_t start_ns, std::uint64_t start_tai_ns) {
  start_ns_ = start_ns;
  start_tai_ns_ = start_tai_ns;
  groups_->start(start_ns);
  for (auto& dtp : dtps_) dtp->start(start_ns, start_tai_ns);
}

void SoftwarePlayer::hold(std::uint64_t frame) noexcept {
  const std::shared_lock lock(joining_);
  groups_->hold(frame);
  for (auto& dtp : dtps_) dtp->dtp().hold(frame);
}

// Until nothing behind the held frame was begun before it was held.
void SoftwarePlayer::pause(std::uint64_t frame) noexcept {
  const std::lock_guard lock(pausing_);
  for (held_ = transfer::kNoHold; held_ != frame;) {
    held_ = frame;
    hold(held_);
    frame = std::max(frame, groups_->begun());
    const std::shared_lock joining(joining_);
    for (const auto& dtp : dtps_) {
      if (!dtp->dtp().done()) frame = std::max(frame, dtp->dtp().begun());
    }
  }
}

void SoftwarePlayer::resume(double rate_hz) {
  const std::lock_guard lock(pausing_);
  if (rate_hz > 0) {
    const std::uint64_t next = held_ == transfer::kNoHold ? foremost() : held_;
    const transfer::Pace pace{.rate_hz = rate_hz, .frame = next, .start_ns = now_ns(), .times = nullptr};
    pace_ = pace;
    const std::shared_lock joining(joining_);
    groups_->set_pace(pace);
    for (auto& dtp : dtps_) dtp->dtp().set_pace(pace);
  }
  held_ = transfer::kNoHold;
  hold(held_);
}

// One that is held may count itself for a moment. Those that are through have begun all that they say, also where the
// others are held before it.
std::uint64_t SoftwarePlayer::begun() const noexcept {
  const std::lock_guard pausing(pausing_);
  const std::shared_lock lock(joining_);
  std::uint64_t frames = std::min(groups_->begun(), held_);
  for (const auto& dtp : dtps_) {
    const bool through = dtp->dtp().done();
    const std::uint64_t begun = dtp->dtp().begun();
    frames = std::max(frames, through ? begun : std::min(begun, held_));
  }
  return frames;
}

std::uint64_t SoftwarePlayer::foremost() const noexcept {
  const std::shared_lock lock(joining_);
  std::uint64_t frames = groups_->begun();
  for (const auto& dtp : dtps_) frames = std::max(frames, dtp->dtp().begun());
  return frames;
}

void SoftwarePlayer::end_at(std::uint64_t frames) noexcept {
  const std::shared_lock lock(joining_);
  for (auto& dtp : dtps_) dtp->dtp().end_at(frames);
}

void SoftwarePlayer::stop() noexcept {
  groups_->stop();
  const std::shared_lock lock(joining_);
  for (auto& dtp : dtps_) dtp->request_stop();
  for (auto& dtp : dtps_) dtp->join();
}

bool SoftwarePlayer::done() const noexcept {
  const std::shared_lock lock(joining_);
  return std::all_of(dtps_.begin(), dtps_.end(), [](const auto& dtp) { return dtp->dtp().done(); });
}

transfer::DtpSourceStats SoftwarePlayer::stats(std::size_t dtp) const { return at(dtp).dtp().stats(); }

link::FaultCounts SoftwarePlayer::injected(std::size_t dtp) const noexcept { return at(dtp).injected(); }

Completeness SoftwarePlayer::fate(std::size_t dtp, std::uint64_t index) const noexcept { return at(dtp).fate(index); }

std::string SoftwarePlayer::description() const {
  std::string all;
  for (const auto& [ends, links] : links_) {
    const std::string how = links->registration();
    if (!how.empty()) all += (all.empty() ? "" : "; ") + how;
  }
  return all;
}

}  // namespace rashpa::emulator
