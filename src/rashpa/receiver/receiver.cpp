// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/receiver/buffers/buffer_output.hpp"
#include "rashpa/receiver/buffers/device_buffers.hpp"

namespace rashpa::receiver {

namespace {

constexpr std::int64_t kLongNs = 1'000'000'000;      // at work on one image: shown
constexpr std::int64_t kVeryLongNs = 3'000'000'000;  // … and worth a line of the log

/// Returns the message about a step that has been at work for `least_ns` or longer; empty when it has not.
std::string words_of(const unit::Busy& busy, std::int64_t least_ns) {
  const std::int64_t ns = now_ns() - busy.since_ns;
  if (ns < least_ns) return {};
  const bool several = busy.kernel.find(',') != std::string::npos;
  return fmt::format("{} {} has been at work on image {} (frame {}) for {:.0f} s and does not come to its end",
                     several ? "one of the kernels" : "kernel", busy.kernel, busy.image, busy.frame,
                     static_cast<double>(ns) * 1e-9);
}

std::string_view words_of(link::Loss loss) noexcept {
  switch (loss) {
    case link::Loss::lines:
      return "lost lines";
    case link::Loss::event:
      return "lost its event";
    case link::Loss::deadline:
      return "sent nothing before the deadline";
    case link::Loss::overrun:
      return "found its slot not free";
    case link::Loss::corrupt:
      return "has no line that its CRC32C proves";
    default:
      return "is incomplete";
  }
}

/// Adds the numbers that the detector says of each image behind those of the kernels.
void add_header(const std::vector<Column>& columns, const std::string& buffer, Results& results) {
  if (results.columns.size() + columns.size() > kMostColumns) {
    throw ConfigError(
        fmt::format("receiver: buffer {}: its kernels make {} numbers an image, and the detector tells {}; leave "
                    "kernels out, so that there are {} at most",
                    buffer, results.columns.size(), columns.size(), kMostColumns));
  }
  for (const Column& column : columns) {
    if (results.column(column.name) != results.columns.size()) {
      throw ConfigError(
          fmt::format("receiver: buffer {}: a kernel makes the number {}, which the detector tells, too; rename it",
                      buffer, column.name));
    }
    results.columns.push_back(column);
  }
}

/// Returns true when sources may write over images while units have them. With credits they do not, and nobody copies
/// images of theirs that lie in memory of a device.
bool may_change(const Config& config, const link::Receiver& link) noexcept {
  if (config.images_in == unit::ImagesIn::device && config.flow == link::Flow::credits) return false;
  return link.sources_write();
}

}  // namespace

/// Destroyed back to front: the distributor's thread ends before the unit and the lane that it uses.
struct Receiver::Buffer {
  Doorbell done_bell;
  std::unique_ptr<unit::Unit> unit;
  std::unique_ptr<scheduler::Lane> lane;
  std::unique_ptr<Distributor> distributor;
  std::int64_t said_of_ns = 0;  // when the step began of which it was said that it does not end; guarded by watching_
  bool noticed = false;         // the unit's notice was logged; guarded by watching_
};

Receiver::Receiver(Config config)
    : config_(std::move(config)),
      layout_(lay_out(config_.buffers, config_.images_in, receiver::last_words_of(config_))),
      images_(device_images(config_, layout_.device_bytes)),
      memory_(layout_.bytes, config_.memory, link::sharing_of(link::kind_of(config_.link))),
      watch_(link::watched_of_receivers(), config_.run, -1) {
  make_link();
  std::uint32_t position = 0;
  std::vector<scheduler::Lane*> lanes;
  // Processors: link threads first, then the scheduler, then units.
  int processor = config_.first_processor < 0 ? -1 : config_.first_processor + static_cast<int>(config_.link_threads);
  const int scheduler_processor = processor;
  for (std::size_t b = 0; b < config_.buffers.size(); ++b) {
    const BufferConfig& buffer = config_.buffers[b];
    auto one = std::make_unique<Buffer>();
    const unit::Layout shape{.width = buffer.width,
                             .height = buffer.height,
                             .input = buffer.pixel,
                             .stack = buffer.stack,
                             .stacks = buffer.slots / buffer.stack,
                             .images = images_at() + layout_.buffers[b].pixels_offset,
                             .images_in = config_.images_in,
                             .image_stride = layout_.buffers[b].slot_bytes,
                             .largest_count = largest_count_of(buffer.pixel, buffer.special),
                             .masked = buffer.masked,
                             .last_words = last_words_of(position, buffer.dtps.size()),
                             .changes = may_change(config_, *link_)};
    unit::Choice choice = buffer.unit;
    choice.cores.first_processor = processor < 0 ? -1 : processor + 1;
    unit::Pipeline pipeline = buffer.pipeline;
    pipeline.delivery = delivery_of(buffer.sinks);
    one->unit = unit::make_unit(choice, pipeline, shape, one->done_bell);
    const unit::Output& made = one->unit->output();
    if (!buffer.special.empty() && (made.width != buffer.width || made.height != buffer.height)) {
      throw ConfigError(
          fmt::format("receiver: buffer {} has special values of {} × {} pixels, and its kernels make {} "
                      "× {}; leave special values out",
                      buffer.name, buffer.width, buffer.height, made.width, made.height));
    }
    scheduler::LaneConfig lane{.name = buffer.name,
                               .pixel = buffer.pixel,
                               .memory = memory_.data(),
                               .device_images = images_.get(),
                               .pixels_offset = layout_.buffers[b].pixels_offset,
                               .slot_bytes = layout_.buffers[b].slot_bytes,
                               .slots = buffer.slots,
                               .stack = buffer.stack,
                               .images = buffer.most(),
                               .end = buffer.end,
                               .slice = buffer.dealt ? kToldByRecords : buffer.slice,
                               .deadline_ns = std::int64_t{buffer.deadline_ms} * 1'000'000,
                               .quiet_ns = std::int64_t{buffer.quiet_ms} * 1'000'000,
                               .dtps = {},
                               .run = config_.run};
    for (const DtpConfig& dtp : buffer.dtps) {
      lane.dtps.push_back(
          {.position = position, .id = dtp.id, .module = dtp.module, .placement = layout_.dtps[position]});
      ++position;
    }
    one->lane = std::make_unique<scheduler::Lane>(std::move(lane), *one->unit, *link_);
    const std::shared_ptr<sink::SpecialMask> mask = special_mask_of(buffer);
    Output output = output_of(buffer, made, config_.run, mask);
    if (const auto* heading = able<const link::Heading>(*link_)) {
      add_header(heading->header_columns(), buffer.name, output.results);
    }
    one->distributor = std::make_unique<Distributor>(buffer, output, *one->lane, *one->unit, one->done_bell, bell_,
                                                     mask, link_->sources_write() ? config_.link_threads : 1);
    log::write(log::Level::info, {.run = config_.run, .buffer = buffer.name},
               "{} × {} pixels {}, {} slots in stacks of {}, {} DTPs, unit: {}, first processor {}", buffer.width,
               buffer.height, pixel_name(buffer.pixel), buffer.slots, buffer.stack, buffer.dtps.size(),
               one->unit->how(), choice.cores.first_processor);
    lanes.push_back(one->lane.get());
    buffers_.push_back(std::move(one));
  }
  scheduler_ =
      std::make_unique<scheduler::Scheduler>(std::move(lanes), queues_, bell_, config_.poll, scheduler_processor);
  say_set_up();
}

Receiver::~Receiver() { stop(); }

std::string Receiver::registration() const {
  return registering_ == nullptr ? std::string() : registering_->registration();
}

void Receiver::say_set_up() const {
  const std::string registration = this->registration();
  log::write(log::Level::info, {.run = config_.run},
             "receiver: link {} at {}, {} threads, first processor {}, {} of memory{}{}{}{}",
             link::name_of(link::kind_of(config_.link)), config_.bind_address, config_.link_threads,
             config_.first_processor, memory_.granted(), images_ ? ", " : "", images_ ? images_->how() : "",
             registration.empty() ? "" : ", ", registration);
  const std::vector<link::Endpoint> ends = link_->endpoints();
  std::size_t position = 0;
  for (const BufferConfig& buffer : config_.buffers) {
    for (const DtpConfig& dtp : buffer.dtps) {
      const link::Endpoint& end = ends[position++];
      log::write(log::Level::debug, {.run = config_.run, .buffer = buffer.name, .dtp = dtp.id},
                 "queue pair {} at {} port {}, module {}, {} × {} pixels at ({}, {})", end.qpn, end.address, end.port,
                 dtp.module, dtp.width, dtp.height, dtp.x, dtp.y);
    }
  }
}

void Receiver::observe(bool last) {
  const std::lock_guard lock(watching_);
  watch_.look(link_->stats(), now_ns(), last);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    observe_steps(b);
    if (buffers_[b]->noticed) continue;
    const std::string notice = unit::notice_of(*buffers_[b]->unit);
    if (notice.empty()) continue;
    buffers_[b]->noticed = true;
    log::write(log::Level::warning, {.run = config_.run, .buffer = config_.buffers[b].name}, "{}", notice);
  }
}

void Receiver::observe_steps(std::size_t buffer) {
  const auto busy = buffers_[buffer]->unit->busy();
  if (!busy || busy->since_ns == buffers_[buffer]->said_of_ns) return;
  const std::string words = words_of(*busy, kVeryLongNs);
  if (words.empty()) return;
  buffers_[buffer]->said_of_ns = busy->since_ns;
  log::write(
      log::Level::warning,
      {.run = config_.run, .buffer = config_.buffers[buffer].name, .frame = static_cast<std::int64_t>(busy->frame)},
      "{}", words);
}

std::vector<LastWord> Receiver::last_words_of(std::size_t first, std::size_t dtps) const {
  const auto* const watchable = able<const link::Watchable>(*link_);
  if (watchable == nullptr) return {};
  const std::vector<LastWord> all = watchable->last_words();
  if (all.size() < first + dtps) return {};
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(dtps)};
}

void Receiver::make_link() {
  if (config_.link_threads == 0) throw ConfigError("receiver: the link has no thread; set threads to 1 or more");
  std::vector<link::ReceiverDtp> dtps;
  for (const BufferConfig& buffer : config_.buffers) {
    for (const DtpConfig& dtp : buffer.dtps) {
      link::ReceiverDtp destination{};
      destination.id = dtp.id;
      destination.images = buffer.images;
      destination.slice = buffer.slice;
      destination.placement = layout_.dtps[dtps.size()];
      destination.run = config_.run;
      destination.dealt = buffer.dealt;
      destination.module = dtp.module;
      destination.pixel = buffer.pixel;
      dtps.push_back(destination);
      queues_.add(2 * static_cast<std::size_t>(buffer.slots));
    }
  }
  const link::ReceiverOptions options{.end = {.link = config_.link,
                                              .peer = link::kind_of(config_.source_link),
                                              .address = config_.bind_address,
                                              .flow = config_.flow,
                                              .poll = config_.poll},
                                      .port = config_.port,
                                      .threads = config_.link_threads,
                                      .first_processor = config_.first_processor,
                                      .region_file = memory_.shared_file()};
  if (images_) clear_words(config_, layout_, *images_);
  link::ReceiverMemory memory =
      images_ ? link::ReceiverMemory(images_->block(), memory_.bytes(), able<memory::Gathering>(*images_))
              : link::ReceiverMemory(memory_.bytes());
  memory.words = layout_.words;
  link_ = link::make_receiver(options, memory, dtps, queues_, bell_);
  registering_ = able<const link::Registering>(*link_);
  placements_ = layout_.dtps;
  if (registering_ == nullptr) return;
  for (Placement& placement : placements_) {
    placement.pixels_offset += registering_->base();
    placement.records_offset += registering_->base_of_records();
  }
}

std::vector<link::Endpoint> Receiver::endpoints() const { return link_->endpoints(); }

std::vector<std::string> Receiver::descriptions() const {
  const auto* const describing = able<const link::Describing>(*link_);
  return describing == nullptr ? std::vector<std::string>() : describing->descriptions();
}

void Receiver::arm(const std::vector<link::Endpoint>& sources) {
  if (state_ != State::configured)
    throw StateError("receiver: it is not in the state configured; reset it, and configure it before arm");
  if (sources.size() != layout_.dtps.size()) {
    throw ConfigError(fmt::format("receiver: there are {} sources for {} DTPs; give one for each DTP", sources.size(),
                                  layout_.dtps.size()));
  }
  link_->connect(sources);
  state_ = State::armed;
  log::write(log::Level::info, {.run = config_.run}, "receiver: armed, connected to {} sources", sources.size());
}

void Receiver::start() {
  if (state_ != State::armed) throw StateError("receiver: it is not armed; arm it before start");
  try {
    for (auto& one : buffers_) one->distributor->begin();
    for (auto& one : buffers_) one->distributor->start(-1);
    scheduler_->start();
    link_->start();
  } catch (const std::system_error& error) {
    stop();  // each part can be stopped whether it has started or not
    throw ResourceError(
        fmt::format("receiver: a thread cannot be started: {}; allow more (ulimit -u, pids of a cgroup)",
                    errno_text(error.code().value())));
  } catch (...) {
    stop();
    throw;
  }
  state_ = State::running;
  log::write(log::Level::info, {.run = config_.run}, "receiver: started");
}

void Receiver::hold_deadlines(bool held) noexcept { scheduler_->hold_deadlines(held); }

std::uint64_t Receiver::adjust(std::size_t buffer, std::size_t step, const NamedValues& values) {
  const Buffer& one = at(buffer);
  const std::vector<kernel::StepOf>& kernels = config_.buffers[buffer].pipeline.kernels;
  if (step >= kernels.size()) {
    throw ConfigError(fmt::format("receiver: buffer {}: there is no step {}; it has {}", one.lane->config().name, step,
                                  kernels.size()));
  }
  const kernel::StepOf with = kernels[step]->with(values);
  const std::uint64_t first = unit::adjust(*one.unit, step, with) * one.lane->config().stack;
  const std::uint64_t images = one.lane->images();
  if (state_.load() == State::stopped || (one.lane->end_known() && first >= images)) {
    throw StateError(fmt::format(
        "receiver: buffer {}: all of its {} images have been begun; set the limits of the next run in its run file",
        one.lane->config().name, images));
  }
  return first;
}

void Receiver::finish(const std::vector<DtpEnd>& ends) {
  std::vector<std::optional<std::uint64_t>> by_buffer(buffers_.size());
  for (const DtpEnd& told : ends) {
    const auto has = [&](const BufferConfig& buffer) {
      return std::any_of(buffer.dtps.begin(), buffer.dtps.end(),
                         [&](const DtpConfig& dtp) { return dtp.id == told.id; });
    };
    const auto found = std::find_if(config_.buffers.begin(), config_.buffers.end(), has);
    if (found == config_.buffers.end()) {
      throw ConfigError(
          fmt::format("receiver: it has no DTP {}, for which an end was given; give the end of its own DTPs", told.id));
    }
    std::optional<std::uint64_t>& end = by_buffer[static_cast<std::size_t>(found - config_.buffers.begin())];
    end = std::max(end.value_or(0), told.images);
  }
  const std::lock_guard lock(finishing_);
  scheduler_->finish(by_buffer);
}

void Receiver::stop() noexcept {
  const std::lock_guard lock(stopping_);
  const State before = state_.load();
  if (before == State::stopped) return;
  link_->stop();
  scheduler_->stop();
  for (auto& one : buffers_) one->distributor->join();
  for (auto& one : buffers_) one->unit->stop();
  state_ = State::stopped;
  try {
    observe(true);
  } catch (const std::exception&) {  // no memory for the counts: the log goes without
  }
  for (const auto& one : buffers_) {
    const Books books = one->distributor->books();
    log::write(log::Level::info, {.run = config_.run, .buffer = one->lane->config().name},
               "receiver: {}: {} images expected, {} complete, {} partial, {} missing, {} accepted, {} written",
               before == State::running ? "stopped" : "given back", books.expected, books.complete, books.partial,
               books.missing, books.accepted, books.written);
  }
}

bool Receiver::wait(double timeout_s) const {
  const std::int64_t until = now_ns() + ns_of(timeout_s);
  for (;;) {
    const bool done =
        std::all_of(buffers_.begin(), buffers_.end(), [](const auto& one) { return one->distributor->done(); });
    if (done || now_ns() >= until) return done;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

const Receiver::Buffer& Receiver::at(std::size_t buffer) const {
  if (buffer >= buffers_.size())
    throw ConfigError(
        fmt::format("receiver: there is no buffer number {}; give one below {}", buffer, buffers_.size()));
  return *buffers_[buffer];
}

std::string Receiver::first_incomplete() const {
  const scheduler::Lane* found = nullptr;
  for (const auto& one : buffers_) {
    const scheduler::FirstIncomplete& first = one->lane->first_incomplete();
    if (first.known.load(std::memory_order_acquire) &&
        (found == nullptr || first.frame < found->first_incomplete().frame))
      found = one->lane.get();
  }
  if (found == nullptr) return {};
  const scheduler::FirstIncomplete& first = found->first_incomplete();
  return fmt::format("buffer {} image {} (frame {}): DTP {} of module {} {}", found->config().name, first.index,
                     first.frame, first.dtp, first.module,
                     first.ended ? "had not sent it when the run was ended" : words_of(first.loss));
}

Status Receiver::status() const {
  Status status;
  status.state = state_.load();
  status.link = link_->stats();
  status.memory = images_ ? images_->how() : std::string(memory_.granted());
  status.registration = registration();
  status.first_incomplete = first_incomplete();
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (const auto& one : buffers_) {
    BufferStatus buffer;
    buffer.name = one->lane->config().name;
    buffer.end_known = one->lane->end_known();
    buffer.books = one->distributor->books();
    buffer.vetoes = one->distributor->vetoes();
    buffer.errors = one->distributor->errors();
    buffer.first_errored = one->distributor->first_errored();
    buffer.to_write = one->distributor->to_write();
    status.link.add("overwritten_images", one->lane->overwritten());
    status.link.add("behind_end_images", one->lane->behind_end());
    for (std::size_t d = 0; d < one->lane->config().dtps.size(); ++d) {
      const scheduler::LaneDtp& dtp = one->lane->config().dtps[d];
      buffer.dtps.push_back(
          {.id = dtp.id, .module = dtp.module, .expected = one->lane->images(), .counts = one->lane->dtp_stats(d)});
    }
    buffer.ready = &one->lane->ready_latency();
    buffer.decision = &one->distributor->decision_latency();
    buffer.written = &one->distributor->written_latency();
    buffer.sink_error = one->distributor->error();
    buffer.unit = one->unit->how();
    buffer.unit_error = one->unit->error();
    if (const auto busy = one->unit->busy()) buffer.busy = words_of(*busy, kLongNs);
    for (const auto& sink : one->distributor->sinks()) {
      buffer.sinks.push_back(sink->status());
      buffer.bytes_written += buffer.sinks.back().bytes_written;
      buffer.bytes_stored += buffer.sinks.back().bytes_stored;
    }
    if (one->distributor->feedback() != nullptr) buffer.feedback = one->distributor->feedback()->status();
    status.buffers.push_back(std::move(buffer));
    const std::int64_t packet = one->lane->first_packet_ns();
    if (packet != 0) first = first == 0 ? packet : std::min(first, packet);
    last = std::max(last, one->distributor->last_decided_ns());
  }
  if (first != 0 && last > first) status.elapsed_s = static_cast<double>(last - first) * 1e-9;
  if (status.state == State::running && wait(0)) status.state = State::finished;
  return status;
}

std::vector<Completeness> Receiver::completeness(std::size_t buffer) const {
  const CompletenessTable& table = at(buffer).lane->completeness();
  std::vector<Completeness> all(at(buffer).lane->images());
  for (std::uint64_t image = 0; image < all.size(); ++image) all[image] = table.get(image);
  return all;
}

std::vector<Decision> Receiver::decisions(std::size_t buffer) const {
  const Buffer& one = at(buffer);
  std::vector<Decision> all(one.lane->images());
  for (std::uint64_t image = 0; image < all.size(); ++image) all[image] = one.distributor->decision(image);
  return all;
}

std::shared_ptr<const Preview> Receiver::preview(std::size_t buffer) const { return at(buffer).distributor->preview(); }
std::shared_ptr<const Preview> Receiver::first(std::size_t buffer, FirstOf what) const {
  return at(buffer).distributor->first(what);
}

const Output& Receiver::output(std::size_t buffer) const { return at(buffer).distributor->output(); }

const Distributor& Receiver::distributor(std::size_t buffer) const { return *at(buffer).distributor; }

}  // namespace rashpa::receiver
