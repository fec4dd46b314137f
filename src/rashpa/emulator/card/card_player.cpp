// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/emulator/card/card_network.hpp"
#include "rashpa/emulator/card/card_options.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::emulator {

namespace {

namespace registers = card::registers;

constexpr std::uint32_t kLookUs = 500;             // between two reads of the sent counts
constexpr std::int64_t kCountersNs = 100'000'000;  // between two readings of all counters

/// Returns `config` when a card can carry it out, before the card is touched; throws ConfigError when it cannot.
const Config& checked_for_card(const Config& config) {
  card_options(config);
  return config;
}

}  // namespace

CardPlayer::CardPlayer(const Config& config, const ModuleFramesStore& frames)
    : config_(checked_for_card(config)),
      driver_(config.card->directory),
      credits_(config.dtps.size()),
      skips_(config.on_full == transfer::OnFull::skip) {
  set_up(frames);
  driver_.carry_out(card::Command::arm);
  look_at_counters();
}

CardPlayer::~CardPlayer() { stop(); }

void CardPlayer::set_up(const ModuleFramesStore& frames) {
  FeedConfig feed{.frames = config_.frames, .rate_hz = config_.rate_hz, .skips = skips_};
  std::vector<ModuleFrames> modules;
  for (const SourceDtp& source : config_.dtps) {
    const auto found = std::find(modules.begin(), modules.end(), frames.of(source.dtp));
    feed.dtps.push_back({.module = static_cast<std::size_t>(found - modules.begin()),
                         .slice = source.dtp.slice,
                         .images = source.dtp.images});
    if (found == modules.end()) modules.push_back(frames.of(source.dtp));
  }
  store_.emplace(driver_.card(), modules, config_.frames);
  for (std::size_t module = 0; module < modules.size(); ++module) feed.rings.push_back(store_->ring(module).frames);
  driver_.clear();
  for (std::size_t place = 0; place < config_.dtps.size(); ++place) {
    const SourceDtp& source = config_.dtps[place];
    Dtp& dtp = *dtps_.emplace_back(std::make_unique<Dtp>(source.dtp));
    driver_.add_dtp(source.dtp.id, table(source, dtp, store_->ring(feed.dtps[place].module)));
  }
  std::vector<std::span<const CardFault>> faults;
  for (const auto& dtp : dtps_) faults.emplace_back(dtp->faults.all);
  write_card_faults(driver_.card(), faults);
  feed_.emplace(std::move(feed));
}

registers::DtpTable CardPlayer::table(const SourceDtp& source, Dtp& ours, const link::fpga::FrameRing& ring) const {
  const transfer::Dtp& dtp = source.dtp;
  if (dtp.images == 0) {
    throw ConfigError(fmt::format("emulator: DTP {} has no image in this run; leave it out of a card's DTPs", dtp.id));
  }
  if (dtp.id > 255) {
    throw ConfigError(
        fmt::format("emulator: a card knows DTPs by ids of 0 to 255, not {}; let it play the first buffers of "
                    "the run file",
                    dtp.id));
  }
  const link::roce::Options& options = card_options(config_);
  registers::DtpTable table;
  set_transfer(table,
               {.id = dtp.id,
                .region = dtp.region,
                .slice = dtp.slice,
                .images = dtp.images,
                .placement = dtp.placement,
                .run = dtp.run},
               ring, card_packets(options));
  const link::fpga::CardPath path = card_path(config_, source, driver_.simulated());
  set_path(table, path);
  ours.endpoint = card_endpoint(config_, path);
  table.credit_qpn = ours.endpoint.qpn;
  table.credit_key = ours.endpoint.rkey;
  table.credit_address = ours.endpoint.credit_offset;
  table.dtp_paced = config_.flow == link::Flow::paced;
  table.dtp_skip = skips_;
  ours.faults = draw_card_faults(config_.faults, dtp,
                                 {.packets = card_packets(options),
                                  .pitch_bytes = ring.pitch_bytes,
                                  .pixel_bytes = ring.pixel_bytes,
                                  .ipv6 = path.ipv6,
                                  .icrc_checked = options.icrc != link::roce::IcrcMode::off,
                                  .first_psn = path.first_psn});
  return table;
}

std::vector<link::Endpoint> CardPlayer::endpoints() const {
  std::vector<link::Endpoint> all;
  for (const auto& dtp : dtps_) all.push_back(dtp->endpoint);
  return all;
}

void CardPlayer::resume(double rate_hz) {
  if (rate_hz > 0) {
    throw ConfigError(fmt::format(
        "emulator: {:g} frames a second while it plays: a card keeps the rate that it began with; let threads play the "
        "DTPs (engine = \"software\"), or stop the run",
        rate_hz));
  }
  pause_from_.store(transfer::kNoHold);
}

void CardPlayer::start(std::int64_t start_ns, std::uint64_t start_tai_ns) {
  start_ns_ = start_ns;
  feed_->start(start_ns);
  start_tai_ns_ = start_tai_ns;
  try {
    feed();
    driver_.carry_out(card::Command::start);
  } catch (const Error& error) {
    fail(error.what());
    done_.store(true, std::memory_order_release);
    throw;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { drive(stop); });
}

void CardPlayer::stop() noexcept {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  try {
    // Armed and never started.
    if (!done()) driver_.abort_unless_idle();
  } catch (const std::exception&) {  // a card that does not answer sends nothing either
  }
  done_.store(true, std::memory_order_release);
}

void CardPlayer::fail(const std::string& why) {
  log::write(log::Level::error, {.run = config_.dtps.front().dtp.run}, "emulator: {}", why);
  const std::lock_guard lock(said_);
  if (error_.empty()) error_ = why;
}

void CardPlayer::drive(const std::stop_token& stop) {
  memory::place_this_thread("card", config_.first_processor);
  try {
    while (!stop.stop_requested() && !ended()) {
      look();
      feed();
      driver_.wait(nap_us());
    }
    driver_.abort_if_running();
    look();
    look_at_counters();
  } catch (const Error& error) {
    fail(error.what());
  }
  done_.store(true, std::memory_order_release);
}

/// Returns true when the card has stopped by itself, all images sent; throws when something is wrong.
bool CardPlayer::ended() {
  const std::optional<std::string> why = driver_.ended();
  if (why && !why->empty()) fail(*why);
  return why.has_value();
}

void CardPlayer::look() {
  for (std::size_t place = 0; place < dtps_.size(); ++place) look_at(place);
  if (const std::int64_t now = now_ns(); now - counters_read_ns_ > kCountersNs) {
    look_at_counters();
    credits_.look(driver_.waiting(), now,
                  [this](std::size_t place) { return dtps_[place]->where(dtps_[place]->next()); });
  }
}

/// The fates of images since the last look.
void CardPlayer::look_at(std::size_t place) {
  Dtp& dtp = *dtps_[place];
  const std::uint64_t before = dtp.next();
  if (dtp.ended()) return;
  const CardDriver::Progress known{dtp.images_sent, dtp.images_skipped};
  CardDriver::Progress now = driver_.progress(place, known);
  if (!skips_) now.skipped = known.skipped;
  // With skip there is one image at a time.
  for (std::uint64_t n = known.skipped; n < now.skipped; ++n) dtp.sent.set(before, Completeness::missing);
  for (std::uint64_t n = known.sent; n < now.sent; ++n) {
    dtp.sent.set(before + n - known.sent, Completeness::complete);
  }
  if (now.skipped > known.skipped) {
    log::write(skipping_, log::Level::warning, dtp.where(before),
               "the image is skipped: the receiver has no free slot");
  }
  dtp.images_sent.store(now.sent, std::memory_order_release);
  dtp.images_skipped.store(now.skipped, std::memory_order_release);
  feed_->note_done(place, dtp.next());
  if (config_.rate_hz <= 0 || dtp.next() == before || dtp.ended()) return;
  const std::int64_t late = now_ns() - feed_->due_ns(dtp.dtp.slice.frame(dtp.next()));
  if (late > dtp.late_ns) dtp.late_ns.store(late, std::memory_order_relaxed);
}

void CardPlayer::look_at_counters() {
  counters_read_ns_ = now_ns();
  link::Counts counts = driver_.counts();
  for (std::size_t place = 0; place < dtps_.size(); ++place) {
    dtps_[place]->packets = driver_.packets(place);
    dtps_[place]->bytes = driver_.bytes(place);
  }
  counts.add("frames_written", store_->pixels_written());
  const std::lock_guard lock(said_);
  counts_ = std::move(counts);
}

std::uint32_t CardPlayer::nap_us() const noexcept {
  if (config_.rate_hz <= 0) return kLookUs;
  const std::int64_t now = now_ns();
  const std::int64_t left = feed_->due_ns(feed_->frames_due(now)) - now;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left / 1000, 0, kLookUs));
}

void CardPlayer::feed() {
  Outlet outlet(*this);
  feed_->feed(now_ns(), pause_from_.load(), outlet);
}

void CardPlayer::Outlet::put(std::size_t module, std::uint64_t frame, std::optional<std::int64_t> at_ns) {
  const std::int64_t since = std::max<std::int64_t>(0, at_ns.value_or(now_ns()) - player_.start_ns_);
  player_.store_->put(module, frame, player_.start_tai_ns_ + static_cast<std::uint64_t>(since));
}

void CardPlayer::Outlet::make_available(std::size_t dtp, std::uint64_t frames) {
  player_.driver_.make_available(dtp, frames);
}

transfer::DtpSourceStats CardPlayer::stats(std::size_t dtp) const {
  const Dtp& of = *dtps_[dtp];
  transfer::DtpSourceStats stats;
  stats.images_sent = of.images_sent.load(std::memory_order_acquire);
  stats.images_skipped = of.images_skipped.load(std::memory_order_acquire);
  stats.late_ns = of.late_ns.load(std::memory_order_relaxed);
  stats.link.add("packets", of.packets.load(std::memory_order_relaxed));
  stats.link.add("payload_bytes", of.bytes.load(std::memory_order_relaxed));
  return stats;
}

link::FaultCounts CardPlayer::injected(std::size_t dtp) const noexcept {
  link::FaultCounts counts;
  const std::uint64_t sent = dtps_[dtp]->images_sent.load(std::memory_order_acquire);
  for (const CardFault& fault : dtps_[dtp]->faults.all) {
    if (fault.image >= sent) break;
    ++(fault.kind == registers::FaultKind::drop ? counts.drop : counts.corrupt);
  }
  return counts;
}

Completeness CardPlayer::fate(std::size_t dtp, std::uint64_t index) const noexcept {
  const Dtp& of = *dtps_[dtp];
  const Completeness sent = of.sent.get(index);
  if (sent != Completeness::complete || of.faults.fates.empty()) return sent;
  return of.faults.fates[index];
}

std::string CardPlayer::description() const { return driver_.description(); }

link::Counts CardPlayer::card() const {
  const std::lock_guard lock(said_);
  return counts_;
}

std::string CardPlayer::error() const {
  const std::lock_guard lock(said_);
  return error_;
}

std::unique_ptr<Player> make_card_player(const Config& config, const ModuleFramesStore& frames) {
  return std::make_unique<CardPlayer>(config, frames);
}

}  // namespace rashpa::emulator
