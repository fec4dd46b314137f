// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dtp_id.hpp"
#include "rashpa/core/image/orientation.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/tell.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/emulator/card/card_player.hpp"
#include "rashpa/emulator/groups.hpp"
#include "rashpa/emulator/module_frames.hpp"
#include "rashpa/emulator/player.hpp"
#include "rashpa/emulator/software_player.hpp"

namespace rashpa::emulator {

namespace {

constexpr double kHighestRateHz = 1e9;             // of run files, too
constexpr std::int64_t kStartDelayNs = 5'000'000;  // all threads run before frame 0 is due

void check(const Config& config, const SourceDtp& source) {
  const transfer::Dtp& dtp = source.dtp;
  const dataset::ModuleShape shape = config.dataset->shape();
  if (dtp.id > kLargestDtpId) {
    throw ConfigError(fmt::format("emulator: DTP id {} is too large; give one of 0 to {}", dtp.id, kLargestDtpId));
  }
  if (dtp.module >= config.dataset->modules()) {
    throw ConfigError(
        fmt::format("emulator: DTP {} asks for module {}, and the dataset has modules 0 to {}; choose one of them",
                    dtp.id, dtp.module, config.dataset->modules() - 1));
  }
  const auto [width, height] = turned_sides(dtp.orientation, shape.width, shape.height);
  if (!inside(dtp.region, width, height)) {
    throw ConfigError(
        fmt::format("emulator: DTP {}: region x={} y={} width={} height={} is not inside the module's {} x {} "
                    "pixels{}; make it smaller, "
                    "or move it",
                    dtp.id, dtp.region.x, dtp.region.y, dtp.region.width, dtp.region.height, width, height,
                    dtp.orientation.upright() ? "" : ", as it is turned"));
  }
  if (dtp.slice.every == 0 || dtp.slice.phase >= dtp.slice.every) {
    throw ConfigError(
        fmt::format("emulator: DTP {}: a time slice takes frames phase, phase + every, …; phase {} of every {} is none",
                    dtp.id, dtp.slice.phase, dtp.slice.every));
  }
  if (dtp.images != dtp.slice.images(config.frames)) {
    throw ConfigError(fmt::format(
        "emulator: DTP {}: {} images are asked for, and its time slice has {} of {} frames; ask for as many", dtp.id,
        dtp.images, dtp.slice.images(config.frames), config.frames));
  }
}

}  // namespace

std::unique_ptr<Player> make_player(const Config& config, const ModuleFramesStore& frames,
                                    const transfer::TriggerGate* gate) {
  if (config.card) return make_card_player(config, frames);
  return std::make_unique<SoftwarePlayer>(config, frames, gate);
}

namespace {

/// The mean rate of a timetable becomes that of the run.
void take_times(Config& config) {
  const std::vector<std::int64_t>& due = config.times->due_ns;
  if (due.size() != config.dataset->frames() || !std::is_sorted(due.begin(), due.end()) || due.front() != 0 ||
      config.times->period_ns <= due.back()) {
    throw ConfigError(
        "emulator: the times of frames do not rise from 0 to less than their period; give one for each frame");
  }
  if (config.card) {
    throw ConfigError(
        "emulator: a card plays frames at one rate, not at recorded times; leave dataset.speed out, or let threads "
        "play "
        "the DTPs (engine = \"software\")");
  }
  if (config.trigger == Trigger::software)
    throw ConfigError("emulator: frames that wait for triggers have no recorded times; leave dataset.speed out");
  config.rate_hz = static_cast<double>(due.size()) * 1e9 / static_cast<double>(config.times->period_ns);
}

}  // namespace

Emulator::Emulator(Config config) : config_(std::move(config)) {
  if (config_.dataset == nullptr || config_.dataset->frames() == 0)
    throw ConfigError("emulator: the dataset holds no frame; give one with frames");
  if (config_.times) take_times(config_);
  if (config_.dtps.empty()) throw ConfigError("emulator: no DTP is configured; connect a buffer to the detector");
  for (const SourceDtp& source : config_.dtps) check(config_, source);
  run_ = config_.dtps.front().dtp.run;
  if (config_.end == End::told && (config_.card || config_.faults.reorder > 0)) {
    throw ConfigError(fmt::format("emulator: {} needs a run whose number of frames is known; set run.frames",
                                  config_.card ? "a card" : "the fault reorder"));
  }
  if (config_.card && !config_.groups.empty())
    throw ConfigError("emulator: a card deals no images among receivers; use the engine software");
  if (config_.end == End::told && !config_.groups.empty())
    throw ConfigError("emulator: images are dealt in runs whose number of frames is known; set run.frames");
  frames_ = config_.frames;
  if (config_.trigger == Trigger::software && config_.end != End::told)
    throw ConfigError("emulator: of a run with triggers nobody knows the end; it must be told");
  store_ = std::make_unique<ModuleFramesStore>(*config_.dataset);
  for (SourceDtp& source : config_.dtps) take_frames(source);
  player_ = make_player(config_, *store_, config_.trigger == Trigger::software ? &gate_ : nullptr);
  pausable_ = able<Pausable>(*player_);
  endable_ = able<Endable>(*player_);
  injecting_ = able<const Injecting>(*player_);
  dealing_ = able<Dealing>(*player_);
  card_ = able<const CardCounting>(*player_);
  for (const SourceDtp& source : config_.dtps) watches_.push_back(watch_of(source));
  const std::string registration = player_->description();
  log::write(log::Level::info, {.run = run()},
             "emulator: link {} at {}, {} DTPs, {} frames at {} Hz, first processor {}{}{}",
             link::name_of(link::kind_of(config_.link)), config_.bind_address, config_.dtps.size(), config_.frames,
             config_.rate_hz, config_.first_processor, registration.empty() ? "" : ", ", registration);
  if (const std::uint64_t bytes = store_->copied_bytes(); bytes > 0) {
    log::write(log::Level::info, {.run = run()},
               "emulator: frames of turned modules and of reductions take {} bytes more", bytes);
  }
}

Emulator::~Emulator() { stop(); }

void Emulator::take_frames(SourceDtp& source) {
  if (source.reduction.any()) return store_->reduce(source.dtp, source.reduction);
  store_->add(source.dtp.module, source.dtp.orientation);
}

// Says in the log where it sends, too.
link::CountWatch Emulator::watch_of(const SourceDtp& source) {
  const transfer::Dtp& dtp = source.dtp;
  const link::Endpoint& to = source.destination;
  log::write(log::Level::debug, {.run = dtp.run, .dtp = dtp.id},
             "module {}, {} × {} pixels at ({}, {}), to queue pair {} at {} port {}", dtp.module, dtp.region.width,
             dtp.region.height, dtp.region.x, dtp.region.y, to.qpn, to.address, to.port);
  return {link::watched_of_senders(), dtp.run, dtp.id};
}

transfer::Dtp Emulator::dtp(std::size_t position) const {
  const std::shared_lock lock(joining_);
  return config_.dtps[position].dtp;
}

std::size_t Emulator::dtps() const {
  const std::shared_lock lock(joining_);
  return config_.dtps.size();
}

std::vector<link::Endpoint> Emulator::join(const std::string& group, const GroupMember& member,
                                           const std::vector<SourceDtp>& dtps) {
  const std::lock_guard stopping(stopping_);
  if (start_ns_.load() == 0 || player_->done())
    throw StateError("emulator: it is not running; join while images are dealt");
  if (dealing_ == nullptr) {
    throw ConfigError(
        fmt::format("emulator: {} with {} DTPs cannot join {}, since a card deals no images; use engine \"threads\"",
                    member.name, dtps.size(), group));
  }
  for (const SourceDtp& source : dtps) {
    check(config_, source);
    if (std::any_of(config_.dtps.begin(), config_.dtps.end(),
                    [&](const SourceDtp& known) { return known.dtp.id == source.dtp.id; })) {
      throw ConfigError(
          fmt::format("emulator: there is a DTP {} already; give a DTP that joins an id of its own", source.dtp.id));
    }
  }
  // All memory before: nothing fails once the member has joined.
  std::vector<SourceDtp> more = dtps;
  for (SourceDtp& source : more) take_frames(source);
  std::vector<link::CountWatch> watches;
  for (const SourceDtp& source : more) watches.push_back(watch_of(source));
  {
    const std::scoped_lock lock(joining_, watching_);
    config_.dtps.reserve(config_.dtps.size() + more.size());
    watches_.reserve(watches_.size() + watches.size());
  }
  std::vector<link::Endpoint> ends = dealing_->join(group, member, more);
  {
    const std::scoped_lock lock(joining_, watching_);
    std::move(more.begin(), more.end(), std::back_inserter(config_.dtps));
    std::move(watches.begin(), watches.end(), std::back_inserter(watches_));
  }
  log::write(log::Level::info, {.run = run()}, "emulator: {} joins group {} with {} DTPs", member.name, group,
             dtps.size());
  return ends;
}

std::vector<link::Endpoint> Emulator::endpoints() const { return player_->endpoints(); }

void Emulator::start() {
  // Without a rate no frame is due at any time, and nobody waits for the first one.
  const std::int64_t delay = config_.rate_hz > 0 ? kStartDelayNs : 0;
  std::int64_t not_yet = 0;
  const std::int64_t start_ns = now_ns() + delay;
  if (!start_ns_.compare_exchange_strong(not_yet, start_ns))
    throw StateError("emulator: already started; reset it first");
  const std::uint64_t tai = tai_ns() + static_cast<std::uint64_t>(delay);
  try {
    player_->start(start_ns, tai);
  } catch (...) {
    player_->stop();  // some of its threads may have started
    throw;
  }
  log::write(log::Level::info, {.run = run()}, "emulator: started");
}

void Emulator::pause(std::uint64_t frame) {
  if (pausable_ == nullptr) throw StateError("emulator: what plays its DTPs cannot pause; abort it");
  pausable_->pause(frame);
  log::write(log::Level::info, {.run = run()}, "emulator: paused");
}

void Emulator::resume(double rate_hz) {
  if (!(rate_hz >= 0 && rate_hz <= kHighestRateHz)) {
    throw ConfigError(
        fmt::format("emulator: {:g} frames a second; give a rate above 0, at most {:g}, or 0 to go on as before",
                    rate_hz, kHighestRateHz));
  }
  if (pausable_ != nullptr) pausable_->resume(rate_hz);
  log::write(log::Level::info, {.run = run()}, "emulator: goes on{}",
             rate_hz > 0 ? fmt::format(" with {:g} frames a second", rate_hz) : "");
}

std::uint64_t Emulator::begun() const noexcept {
  return start_ns_.load() == 0 || endable_ == nullptr ? 0 : endable_->begun();
}

void Emulator::end_at(std::uint64_t frames) {
  if (endable_ == nullptr || !config_.groups.empty() || config_.faults.reorder > 0) {
    const char* who = endable_ == nullptr       ? "a card"
                      : !config_.groups.empty() ? "a run with groups"
                                                : "a run with the fault reorder";
    throw StateError(fmt::format("emulator: {} ends after {} frames and not before; abort it", who, config_.frames));
  }
  if (const std::uint64_t begun = this->begun(); frames < begun) {
    throw StateError(
        fmt::format("emulator: it has begun {} frames and cannot end after {}; end it after more", begun, frames));
  }
  frames_ = std::min(frames, config_.frames);
  ended_early_ = true;
  endable_->end_at(frames_);
  if (pausable_ != nullptr) pausable_->resume(0);
  log::write(log::Level::info, {.run = run()}, "emulator: ends after {} frames", frames_.load());
}

void Emulator::trigger(std::uint64_t frames) {
  const std::lock_guard lock(triggering_);
  const auto refuse = [this](const std::string& why) {
    triggers_refused_.fetch_add(1);
    log::write(log::Level::warning, {.run = run()}, "emulator: a trigger is refused: {}", why);
    throw StateError("emulator: " + why);
  };
  if (config_.trigger != Trigger::software)
    refuse("its frames come by themselves; set detector.trigger = \"software\"");
  if (start_ns_.load() == 0 || player_->done()) refuse("it is not running; start the run first");
  const std::uint64_t end = gate_.end();
  for (std::size_t i = 0; i < dtps(); ++i) {
    const transfer::Dtp dtp = this->dtp(i);
    const std::uint64_t due = dtp.slice.images(end);
    const std::uint64_t had = player_->stats(i).images_due();
    if (had < due) {
      refuse(
          fmt::format("busy: DTP {} has sent {} of the {} images that were triggered before; try again when it is done",
                      dtp.id, had, due));
    }
  }
  if (frames == 0 || frames > config_.frames - end)
    refuse(fmt::format("{} frames are asked for, and {} are left in the run; ask for fewer", frames,
                       config_.frames - end));
  gate_.open(frames, now_ns());
  triggers_.fetch_add(1);
}

void Emulator::stop() noexcept {
  const std::lock_guard lock(stopping_);
  player_->stop();
  if (start_ns_.load() == 0 || std::exchange(said_end_, true)) return;
  tell([this] {
    observe(true);
    for (std::size_t i = 0; i < dtps(); ++i) {
      const transfer::DtpSourceStats dtp = player_->stats(i);
      log::write(log::Level::info, {.run = run(), .dtp = this->dtp(i).id},
                 "emulator: ended: {} images sent, {} skipped, {} withheld", dtp.images_sent, dtp.images_skipped,
                 dtp.images_dead);
    }
  });
}

void Emulator::observe(bool last) {
  const std::lock_guard lock(watching_);
  for (std::size_t i = 0; i < watches_.size(); ++i) watches_[i].look(player_->stats(i).link, now_ns(), last);
}

bool Emulator::wait(double timeout_s) const {
  const std::int64_t until = now_ns() + ns_of(timeout_s);
  for (;;) {
    const bool done = player_->done();
    if (done || now_ns() >= until) return done;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status Emulator::status() const {
  Status status;
  for (std::size_t i = 0; i < dtps(); ++i) {
    status.ids.push_back(dtp(i).id);
    status.dtps.push_back(player_->stats(i));
  }
  if (card_ != nullptr) status.card = card_->card();
  status.error = player_->error();
  status.triggers = triggers_.load();
  status.triggers_refused = triggers_refused_.load();
  status.frames_triggered = gate_.end();
  if (const std::int64_t start_ns = start_ns_.load(); start_ns != 0) {
    const bool done = wait(0);
    if (done && end_ns_.load() == 0) end_ns_.store(now_ns());
    const Groups* groups = this->groups();
    bool whole = done && (groups == nullptr || groups->settled());
    for (std::size_t i = 0; i < status.dtps.size(); ++i) {
      if (groups != nullptr && groups->port(status.ids[i]) != nullptr) continue;
      whole = whole && status.dtps[i].images_due() == dtp(i).slice.images(frames_);
    }
    status.state = !done ? State::running : whole ? State::finished : State::stopped;
    const std::int64_t until = end_ns_.load() != 0 ? end_ns_.load() : now_ns();
    status.elapsed_s = static_cast<double>(std::max<std::int64_t>(0, until - start_ns)) * 1e-9;  // 0: not yet due
  }
  return status;
}

Injected Emulator::injected() const {
  Injected sum;
  for (std::size_t i = 0; i < dtps(); ++i) {
    const link::FaultCounts packets = injecting_ == nullptr ? link::FaultCounts{} : injecting_->injected(i);
    const transfer::DtpSourceStats images = player_->stats(i);
    sum.drop += packets.drop;
    sum.duplicate += packets.duplicate;
    sum.reorder += packets.reorder;
    sum.corrupt += packets.corrupt;
    sum.stall += images.stalls;
    sum.dead_images += images.images_dead;
  }
  return sum;
}

Groups* Emulator::groups() const noexcept { return dealing_ == nullptr ? nullptr : &dealing_->groups(); }

std::string Emulator::registration() const { return player_->description(); }

std::vector<Completeness> Emulator::fates(std::size_t dtp) const {
  if (dtp >= dtps())
    throw ConfigError(fmt::format("emulator: there is no DTP number {}; give one below {}", dtp, dtps()));
  const Groups* groups = this->groups();
  const bool dealt = groups != nullptr && groups->port(this->dtp(dtp).id) != nullptr;
  const bool known = config_.end == End::known && !ended_early_ && !dealt;
  std::vector<Completeness> all(known ? this->dtp(dtp).images : player_->stats(dtp).images_due());
  if (injecting_ == nullptr) {
    std::fill(all.begin(), all.end(), Completeness::complete);
    return all;
  }
  for (std::uint64_t index = 0; index < all.size(); ++index) all[index] = injecting_->fate(dtp, index);
  return all;
}

}  // namespace rashpa::emulator
