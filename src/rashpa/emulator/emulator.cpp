// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"

namespace rashpa::emulator {

namespace {

constexpr std::int64_t kStartDelayNs = 5'000'000;  // all threads run before frame 0 is due

void check(const Config& config, const SourceDtp& source) {
  const transfer::Dtp& dtp = source.dtp;
  const dataset::ModuleShape shape = config.dataset->shape();
  if (dtp.id > 255)
    throw ConfigError(fmt::format("emulator: DTP id {} does not fit the immediate; use 0 to 255", dtp.id));
  if (dtp.module >= config.dataset->modules()) {
    throw ConfigError(fmt::format("emulator: DTP {} wants module {}, the dataset has modules 0 to {}", dtp.id,
                                  dtp.module, config.dataset->modules() - 1));
  }
  if (!inside(dtp.region, shape.width, shape.height)) {
    throw ConfigError(fmt::format(
        "emulator: DTP {}: region x={} y={} width={} height={} is not inside the module's {} x {} pixels", dtp.id,
        dtp.region.x, dtp.region.y, dtp.region.width, dtp.region.height, shape.width, shape.height));
  }
  if (dtp.slice.every == 0 || dtp.slice.phase >= dtp.slice.every) {
    throw ConfigError(
        fmt::format("emulator: DTP {}: a time slice takes frames phase, phase + every, …; phase {} of every {} is none",
                    dtp.id, dtp.slice.phase, dtp.slice.every));
  }
  if (dtp.images != dtp.slice.images(config.frames)) {
    throw ConfigError(fmt::format("emulator: DTP {}: {} images are asked for, its time slice has {} of {} frames",
                                  dtp.id, dtp.images, dtp.slice.images(config.frames), config.frames));
  }
}

// The link is chosen here and nowhere else.
link::EndOptions end_options(const Config& config) {
  return {.link = config.link,
          .peer = link::kind_of(config.destination_link),
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
class Emulator::Player final : public transfer::FrameSource {
 public:
  Player(const Config& config, const SourceDtp& source, link::Senders& links, int processor)
      : dataset_(*config.dataset),
        module_(source.dtp.module),
        link_(links.make({.destination = source.destination,
                          .id = source.dtp.id,
                          .images = source.dtp.images,
                          .payload_bytes = source.dtp.placement.payload_bytes()})),
        dtp_(dtp_config(config, source, processor), *this, *link_) {}

  [[nodiscard]] const std::byte* frame(std::uint64_t frame) const noexcept override {
    return dataset_.frame(module_, frame % dataset_.frames());
  }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept override {
    return dataset_.flags(frame % dataset_.frames());
  }
  void start(std::int64_t start_ns, std::uint64_t tai) {
    thread_ = std::jthread([this, start_ns, tai](const std::stop_token& stop) { dtp_.run(stop, start_ns, tai); });
  }
  void request_stop() noexcept { thread_.request_stop(); }
  void join() noexcept {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] Completeness fate(std::uint64_t index) const noexcept {
    const Completeness sent = dtp_.sent().get(index);
    if (sent != Completeness::complete) return sent;
    return link_->fates() != nullptr ? link_->fates()->fate(index) : Completeness::complete;
  }
  transfer::DtpSource& dtp() noexcept { return dtp_; }
  [[nodiscard]] const transfer::DtpSource& dtp() const noexcept { return dtp_; }
  [[nodiscard]] const link::Sender& link() const noexcept { return *link_; }

 private:
  static transfer::DtpSourceConfig dtp_config(const Config& config, const SourceDtp& source, int processor) {
    transfer::DtpSourceConfig out{};
    out.dtp = source.dtp;
    out.pitch_bytes = config.dataset->shape().pitch_bytes();
    out.pixel_bytes = pixel_bytes(config.dataset->shape().pixel);
    out.rate_hz = config.rate_hz;
    out.on_full = config.on_full;
    out.faults.seed = config.faults.seed;
    out.faults.stall = config.faults.stall;
    out.faults.stall_us = config.faults.stall_us;
    for (const auto& [module, first] : config.faults.dead_modules) {
      if (module == source.dtp.module) out.faults.dead_from = first;
    }
    out.processor = processor;
    return out;
  }

  const dataset::Dataset& dataset_;
  std::uint32_t module_;
  std::unique_ptr<link::Sender> link_;
  transfer::DtpSource dtp_;
  std::jthread thread_;
};

Emulator::Emulator(Config config) : config_(std::move(config)) {
  if (config_.dataset == nullptr || config_.dataset->frames() == 0)
    throw ConfigError("emulator: the dataset holds no frame");
  if (config_.dtps.empty()) throw ConfigError("emulator: no DTP is configured");
  links_ =
      std::make_unique<link::Senders>(end_options(config_), config_.dataset->memory(), packet_faults(config_.faults));
  for (std::size_t i = 0; i < config_.dtps.size(); ++i) {
    check(config_, config_.dtps[i]);
    const int processor = config_.first_processor < 0 ? -1 : config_.first_processor + static_cast<int>(i);
    players_.push_back(std::make_unique<Player>(config_, config_.dtps[i], *links_, processor));
    const transfer::Dtp& dtp = config_.dtps[i].dtp;
    watches_.emplace_back(link::watched_of_senders(), dtp.run, dtp.id);
    const link::Endpoint& to = config_.dtps[i].destination;
    log::write(log::Level::debug, {.run = dtp.run, .dtp = dtp.id},
               "module {}, {} × {} pixels at ({}, {}), to queue pair {} at {} port {}", dtp.module, dtp.region.width,
               dtp.region.height, dtp.region.x, dtp.region.y, to.qpn, to.address, to.port);
  }
  const std::string registration = links_->registration();
  log::write(log::Level::info, {.run = run()},
             "emulator: link {} at {}, {} DTPs, {} frames at {} Hz, first processor {}{}{}",
             link::name_of(link::kind_of(config_.link)), config_.bind_address, config_.dtps.size(), config_.frames,
             config_.rate_hz, config_.first_processor, registration.empty() ? "" : ", ", registration);
}

Emulator::~Emulator() { stop(); }

std::vector<link::Endpoint> Emulator::endpoints() const {
  std::vector<link::Endpoint> all;
  for (const auto& player : players_) all.push_back(player->link().endpoint());
  return all;
}

void Emulator::start() {
  // Without a rate no frame is due at any time, and nobody waits for the first one.
  const std::int64_t delay = config_.rate_hz > 0 ? kStartDelayNs : 0;
  std::int64_t not_yet = 0;
  const std::int64_t start_ns = now_ns() + delay;
  if (!start_ns_.compare_exchange_strong(not_yet, start_ns))
    throw StateError("emulator: already started; reset it first");
  const std::uint64_t tai = tai_ns() + static_cast<std::uint64_t>(delay);
  for (auto& player : players_) player->start(start_ns, tai);
  log::write(log::Level::info, {.run = run()}, "emulator: started");
}

void Emulator::pause(bool paused) {
  for (auto& player : players_) player->dtp().pause(paused);
  log::write(log::Level::info, {.run = run()}, "emulator: {}", paused ? "paused" : "goes on");
}

void Emulator::stop() noexcept {
  const std::lock_guard lock(stopping_);
  for (auto& player : players_) player->request_stop();
  for (auto& player : players_) player->join();
  if (start_ns_.load() == 0 || std::exchange(said_end_, true)) return;
  try {
    observe(true);
  } catch (const std::exception&) {  // no memory for the counts: the log goes without
  }
  for (const auto& player : players_) {
    const transfer::DtpSourceStats dtp = player->dtp().stats();
    log::write(log::Level::info, {.run = run(), .dtp = player->dtp().dtp().id},
               "emulator: ended: {} images sent, {} skipped, {} withheld", dtp.images_sent, dtp.images_skipped,
               dtp.images_dead);
  }
}

void Emulator::observe(bool last) {
  const std::lock_guard lock(watching_);
  for (std::size_t i = 0; i < watches_.size(); ++i) watches_[i].look(players_[i]->link().stats(), now_ns(), last);
}

bool Emulator::wait(double timeout_s) const {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  for (;;) {
    const bool done =
        std::all_of(players_.begin(), players_.end(), [](const auto& player) { return player->dtp().done(); });
    if (done || now_ns() >= until) return done;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status Emulator::status() const {
  Status status;
  for (const auto& player : players_) status.dtps.push_back(player->dtp().stats());
  if (const std::int64_t start_ns = start_ns_.load(); start_ns != 0) {
    const bool done = wait(0);
    if (done && end_ns_.load() == 0) end_ns_.store(now_ns());
    bool whole = done;
    for (std::size_t i = 0; i < status.dtps.size(); ++i) {
      const transfer::DtpSourceStats& dtp = status.dtps[i];
      whole = whole && dtp.images_sent + dtp.images_skipped + dtp.images_dead == config_.dtps[i].dtp.images;
    }
    status.state = !done ? State::running : whole ? State::finished : State::stopped;
    const std::int64_t until = end_ns_.load() != 0 ? end_ns_.load() : now_ns();
    status.elapsed_s = static_cast<double>(std::max<std::int64_t>(0, until - start_ns)) * 1e-9;  // 0: not yet due
  }
  return status;
}

Injected Emulator::injected() const {
  Injected sum;
  for (const auto& player : players_) {
    const link::FaultCounts packets = player->link().injected();
    const transfer::DtpSourceStats images = player->dtp().stats();
    sum.drop += packets.drop;
    sum.duplicate += packets.duplicate;
    sum.reorder += packets.reorder;
    sum.corrupt += packets.corrupt;
    sum.stall += images.stalls;
    sum.dead_images += images.images_dead;
  }
  return sum;
}

std::string Emulator::registration() const { return links_->registration(); }

std::vector<Completeness> Emulator::fates(std::size_t dtp) const {
  if (dtp >= players_.size())
    throw ConfigError(fmt::format("emulator: there is no DTP number {}; it has {}", dtp, players_.size()));
  std::vector<Completeness> all(config_.dtps[dtp].dtp.images);
  for (std::uint64_t index = 0; index < all.size(); ++index) all[index] = players_[dtp]->fate(index);
  return all;
}

}  // namespace rashpa::emulator
