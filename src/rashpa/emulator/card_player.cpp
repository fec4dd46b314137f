// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/emulator/card_network.hpp"
#include "rashpa/emulator/card_options.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::emulator {

namespace {

namespace registers = card::registers;
namespace doorbells = registers::doorbells;

constexpr std::uint32_t kCommandUs = 1'000'000;            // a card's answer to a command
constexpr std::uint32_t kSimulatedCommandUs = 30'000'000;  // a simulated one's, on a machine with much else to do
constexpr std::uint32_t kLookUs = 500;                     // between two reads of the sent counts
constexpr std::int64_t kCountersNs = 100'000'000;          // between two readings of all counters
constexpr std::int64_t kStarvedNs = 1'000'000'000;         // without credits, before the log says so
constexpr std::uint64_t kAtOnce = 64;                      // frames put into memory between two looks
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// The whole of a count of which the card shows 32 bits.
std::uint64_t advanced(std::uint64_t known, std::uint32_t shown) noexcept {
  return known + static_cast<std::uint32_t>(shown - static_cast<std::uint32_t>(known));
}

}  // namespace

CardPlayer::CardPlayer(const Config& config, const ModuleFramesStore& frames)
    : config_(config),
      card_(config.card->directory),
      simulated_(card_.read32(registers::identity::kClock) == 0),
      skips_(config.on_full == transfer::OnFull::skip) {
  card_options(config_);
  card_.claim();
  // Of a program that ended in the middle of a run.
  if (card_.state() != registers::State::idle) command(card::Command::abort);
  set_up(frames);
  command(card::Command::arm);
  look_at_counters();
}

CardPlayer::~CardPlayer() { stop(); }

void CardPlayer::set_up(const ModuleFramesStore& frames) {
  std::vector<ModuleFrames> modules;
  std::vector<std::size_t> module_of;  // of each DTP
  for (const SourceDtp& source : config_.dtps) {
    const auto found = std::find(modules.begin(), modules.end(), frames.of(source.dtp));
    module_of.push_back(static_cast<std::size_t>(found - modules.begin()));
    if (found == modules.end()) modules.push_back(frames.of(source.dtp));
  }
  modules_.resize(modules.size());
  store_.emplace(card_, modules, config_.frames);
  card_.write32(registers::settings::kMode, 0);
  for (std::size_t place = 0; place < registers::dtp_table::kCount; ++place) {
    const auto at = static_cast<std::uint32_t>(4 * place);
    card_.write32(doorbells::kGranted + at, 0);
    card_.write32(doorbells::kFramesAvailable + at, 0);
    if (place >= config_.dtps.size()) {
      card_.write_table(place, {});
      continue;
    }
    const SourceDtp& source = config_.dtps[place];
    Dtp& dtp = *dtps_.emplace_back(std::make_unique<Dtp>(source.dtp));
    dtp.module = module_of[place];
    modules_[dtp.module].dtps.push_back(place);
    dtp.table = table(source, place);
    card_.write_table(place, dtp.table);
  }
  std::vector<std::span<const CardFault>> faults;
  for (const auto& dtp : dtps_) faults.emplace_back(dtp->faults.all);
  write_card_faults(card_, faults);
}

registers::DtpTable CardPlayer::table(const SourceDtp& source, std::size_t place) {
  const transfer::Dtp& dtp = source.dtp;
  if (dtp.images == 0) {
    throw ConfigError(fmt::format("emulator: DTP {} has no image in this run; a card takes none such", dtp.id));
  }
  if (dtp.id > 255) {
    throw ConfigError(
        fmt::format("emulator: a card knows DTPs by ids of 0 to 255, not {}; let it play the first buffers of "
                    "the run file",
                    dtp.id));
  }
  Dtp& ours = *dtps_[place];
  const link::roce::Options& options = card_options(config_);
  const link::fpga::FrameRing& ring = store_->ring(ours.module);
  registers::DtpTable table;
  set_transfer(table,
               {.id = dtp.id,
                .region = dtp.region,
                .slice = dtp.slice,
                .images = dtp.images,
                .placement = dtp.placement,
                .run = dtp.run},
               ring, card_packets(options));
  const link::fpga::CardPath path = card_path(config_, source, simulated_);
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

/// As Card::carry_out(), with ids of DTPs where the card has places of its table.
void CardPlayer::command(card::Command command) {
  try {
    card_.carry_out(command, simulated_ ? kSimulatedCommandUs : kCommandUs);
  } catch (const StateError&) {
    if (const std::string why = card_error(); !why.empty() && command != card::Command::abort) {
      throw StateError("emulator: " + why);
    }
    throw;
  }
}

std::string CardPlayer::card_error() const {
  auto error = card_.error();
  if (!error) return {};
  const std::uint32_t place = error->dtp;
  const bool ours = place < dtps_.size();
  if (ours) error->dtp = dtps_[place]->dtp.id;
  std::string text = fmt::format("the card in {} says: {}", config_.card->directory.string(), text_of(*error));
  if (ours && error->code == registers::ErrorCode::memory) {
    // It does not name the line. Reads are ahead of packets: it is a line behind that one.
    namespace status = registers::dtp_status;
    const std::uint32_t at = status::at(place);
    text += fmt::format("; what left last is {}",
                        link::fpga::last_sent(dtps_[place]->table, card_.read64(at + status::kImagesSent),
                                              card_.read64(at + status::kPackets)));
  }
  return text;
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
  start_tai_ns_ = start_tai_ns;
  try {
    feed();
    command(card::Command::start);
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
    if (!done() && card_.state() != registers::State::idle) command(card::Command::abort);
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
      card_.wait(nap_us());
    }
    if (card_.state() == registers::State::running) command(card::Command::abort);
    look();
    look_at_counters();
  } catch (const Error& error) {
    fail(error.what());
  }
  done_.store(true, std::memory_order_release);
}

/// By itself: all images are out, or something is wrong.
bool CardPlayer::ended() {
  const registers::State state = card_.state();
  if (state == registers::State::done) return true;
  if (state == registers::State::running || state == registers::State::aborting) return false;
  const std::string why = card_error();
  fail(why.empty()
           ? fmt::format("the card in {} has ended its run in state {}: it was reset, or its driver is another one's",
                         config_.card->directory.string(), static_cast<std::uint32_t>(state))
           : why);
  return true;
}

void CardPlayer::look() {
  for (std::size_t place = 0; place < dtps_.size(); ++place) look_at(place);
  if (const std::int64_t now = now_ns(); now - counters_read_ns_ > kCountersNs) {
    look_at_counters();
    watch_credits(now);
  }
}

/// The fates of images since the last look.
void CardPlayer::look_at(std::size_t place) {
  namespace status = registers::dtp_status;
  Dtp& dtp = *dtps_[place];
  const auto of = [&](std::uint32_t word) { return card_.read32(status::at(place) + word); };
  const std::uint64_t before = dtp.next();
  if (dtp.ended()) return;
  const std::uint64_t sent = advanced(dtp.images_sent, of(status::kImagesSent));
  const std::uint64_t skipped = skips_ ? advanced(dtp.images_skipped, of(status::kImagesSkipped)) : 0;
  // With skip there is one image at a time.
  for (std::uint64_t n = dtp.images_skipped; n < skipped; ++n) dtp.sent.set(before, Completeness::missing);
  for (std::uint64_t n = dtp.images_sent; n < sent; ++n)
    dtp.sent.set(before + n - dtp.images_sent, Completeness::complete);
  if (skipped > dtp.images_skipped) {
    log::write(skipping_, log::Level::warning,
               {.run = dtp.dtp.run, .dtp = dtp.dtp.id, .frame = static_cast<std::int64_t>(dtp.dtp.slice.frame(before))},
               "the image is skipped: the receiver has no free slot");
  }
  dtp.images_sent.store(sent, std::memory_order_release);
  dtp.images_skipped.store(skipped, std::memory_order_release);
  if (config_.rate_hz <= 0 || dtp.next() == before || dtp.ended()) return;
  const std::int64_t late = now_ns() - due_ns(dtp.dtp.slice.frame(dtp.next()));
  if (late > dtp.late_ns) dtp.late_ns.store(late, std::memory_order_relaxed);
}

void CardPlayer::look_at_counters() {
  namespace status = registers::dtp_status;
  namespace counters = registers::counters;
  counters_read_ns_ = now_ns();
  std::error_code code;
  if (!std::filesystem::exists(config_.card->directory / "xdma0_user", code)) {
    throw FileError(fmt::format("the card in {} is gone; was it stopped?", config_.card->directory.string()));
  }
  for (std::size_t place = 0; place < dtps_.size(); ++place) {
    dtps_[place]->packets = card_.read64(status::at(place) + status::kPackets);
    dtps_[place]->bytes = card_.read64(status::at(place) + status::kBytes);
  }
  link::Counts counts;
  counts.add("clock_khz", std::uint64_t{card_.read32(registers::identity::kClock)} * 1000 / 1024);
  counts.add("cycles", card_.read64(counters::kCycles));
  counts.add("wait_credit", card_.read64(counters::kWaitCredit));
  counts.add("wait_memory", card_.read64(counters::kWaitMemory));
  counts.add("wait_wire", card_.read64(counters::kWaitWire));
  counts.add("images", card_.read64(counters::kImages));
  counts.add("lines", card_.read64(counters::kLines));
  counts.add("packets", card_.read64(counters::kPackets));
  counts.add("bytes", card_.read64(counters::kBytes));
  counts.add("credits", card_.read64(counters::kCredits));
  counts.add("cnps", card_.read64(counters::kCnps));
  counts.add("frames_ignored", card_.read64(counters::kFramesIgnored));
  counts.add("icrc_bad", card_.read64(counters::kIcrcBad));
  counts.add("frames_missed", card_.read64(counters::kFramesMissed));
  counts.add("faults", card_.read64(counters::kFaults));
  counts.add("frames_written", store_->pixels_written());
  const std::lock_guard lock(said_);
  counts_ = std::move(counts);
}

void CardPlayer::watch_credits(std::int64_t now) {
  const std::uint32_t waiting = card_.read32(registers::status::kDtpsWaiting);
  for (std::size_t place = 0; place < dtps_.size(); ++place) {
    Dtp& dtp = *dtps_[place];
    const auto where = [&]() -> log::Where {
      return {
          .run = dtp.dtp.run, .dtp = dtp.dtp.id, .frame = static_cast<std::int64_t>(dtp.dtp.slice.frame(dtp.next()))};
    };
    if ((waiting >> place & 1U) == 0) {
      if (dtp.said_waiting) {
        log::write(log::Level::info, where(), "slots are granted again, after {:.1f} s",
                   static_cast<double>(now - dtp.waiting_since_ns) * 1e-9);
      }
      dtp.waiting_since_ns = 0;
      dtp.said_waiting = false;
    } else if (dtp.waiting_since_ns == 0) {
      dtp.waiting_since_ns = now;
    } else if (!dtp.said_waiting && now - dtp.waiting_since_ns > kStarvedNs) {
      log::write(starved_, log::Level::warning, where(),
                 "no free slot was granted for {} s: the receiver is behind, or its credits do not arrive",
                 kStarvedNs / 1'000'000'000);
      dtp.said_waiting = true;
    }
  }
}

std::int64_t CardPlayer::due_ns(std::uint64_t frame) const noexcept {
  return start_ns_ + static_cast<std::int64_t>(std::llround(static_cast<double>(frame) * 1e9 / config_.rate_hz));
}

/// How many of the run's frames may be sent by now.
std::uint64_t CardPlayer::frames_due(std::int64_t now) const noexcept {
  if (config_.rate_hz <= 0) return config_.frames;
  if (now < start_ns_) return 0;
  auto frames = static_cast<std::uint64_t>(static_cast<double>(now - start_ns_) * 1e-9 * config_.rate_hz);
  while (due_ns(frames) <= now) ++frames;  // rounded as records are
  while (frames > 0 && due_ns(frames - 1) > now) --frames;
  return std::min(frames, config_.frames);
}

std::uint32_t CardPlayer::nap_us() const noexcept {
  if (config_.rate_hz <= 0) return kLookUs;
  const std::int64_t now = now_ns();
  const std::int64_t left = due_ns(frames_due(now)) - now;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left / 1000, 0, kLookUs));
}

void CardPlayer::feed() {
  const std::uint64_t hold = held();
  const std::uint64_t due = std::min(frames_due(now_ns()), hold);
  for (std::size_t module = 0; module < modules_.size(); ++module) fill(module, due);
  for (std::size_t place = 0; place < dtps_.size(); ++place) {
    const Dtp& dtp = *dtps_[place];
    if (dtp.ended()) continue;
    const std::uint64_t next = dtp.dtp.slice.frame(dtp.next());
    std::uint64_t frames = std::min(modules_[dtp.module].filled, hold);
    if (skips_) frames = std::min(frames, next + 1);
    make_available(place, frames);
  }
}

/// The first frame that is not given while it is paused: behind all that a DTP has, so that no image is left half sent.
std::uint64_t CardPlayer::held() {
  const std::uint64_t asked = pause_from_.load();
  if (asked == transfer::kNoHold) return held_ = transfer::kNoHold;
  if (held_ == transfer::kNoHold) {
    held_ = 0;
    for (const auto& dtp : dtps_) {
      if (!dtp->ended()) held_ = std::max<std::uint64_t>(held_, dtp->available);
    }
  }
  return held_ = std::max(held_, asked);
}

/// Puts frames that are due into memory, as far as the ring has places that nobody reads.
void CardPlayer::fill(std::size_t module, std::uint64_t due) {
  Module& ours = modules_[module];
  std::uint64_t oldest = kNever;
  for (const std::size_t place : ours.dtps) {
    const Dtp& dtp = *dtps_[place];
    if (!dtp.ended()) oldest = std::min(oldest, dtp.dtp.slice.frame(dtp.next()));
  }
  if (oldest == kNever) return;
  const std::uint64_t end = std::min({due, oldest + store_->ring(module).frames, ours.filled + kAtOnce});
  for (; ours.filled < end; ++ours.filled) {
    const std::uint64_t frame = ours.filled;
    const bool taken = std::any_of(ours.dtps.begin(), ours.dtps.end(), [&](std::size_t place) {
      const Slice& slice = dtps_[place]->dtp.slice;
      return frame >= slice.phase && (frame - slice.phase) % slice.every == 0;
    });
    if (!taken) continue;
    const std::int64_t at = config_.rate_hz > 0 ? due_ns(frame) : now_ns();
    store_->put(module, frame, start_tai_ns_ + static_cast<std::uint64_t>(std::max<std::int64_t>(0, at - start_ns_)));
  }
}

void CardPlayer::make_available(std::size_t place, std::uint64_t frames) {
  const auto value = static_cast<std::uint32_t>(frames);
  if (dtps_[place]->available == value) return;
  dtps_[place]->available = value;
  card_.write32(doorbells::kFramesAvailable + static_cast<std::uint32_t>(4 * place), value);
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

std::string CardPlayer::description() const {
  const link::Counts counts = card();
  const std::uint64_t khz = counts["clock_khz"];
  return fmt::format("a {} with {} bytes of memory in {}",
                     simulated_ ? "simulated card" : fmt::format("card of {:.1f} MHz", static_cast<double>(khz) * 1e-3),
                     card_.memory_bytes(), config_.card->directory.string());
}

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
