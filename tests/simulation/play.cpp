// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/checking_sink.hpp"
#include "checks/checks.hpp"
#include "checks/stored_files.hpp"
#include "group_play.hpp"
#include "hand.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/time/running_clock.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/sink/factory.hpp"

namespace rashpa::simulation {

namespace {

constexpr Process kReceiver = 1;
constexpr Process kFirstEmulator = 2;
constexpr std::int64_t kLimitNs = 600'000 * kMs;
constexpr double kStopS = 2;  // an emulator ends within a second

class Player {
 public:
  Player(const Scenario& scenario, std::filesystem::path folder)
      : scenario_(scenario), slice_{scenario.every, scenario.phase}, folder_(std::move(folder)) {}

  Result run() {
    try {
      set_up();
      go();
      check();
      take_down();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      if (!is_of_the_disk(text)) wrong("nobody expected: " + text);
    }
    say_logs();
    result_.digest = world::digest();
    result_.switches = world::switches();
    return result_;
  }

 private:
  void wrong(std::string text) { result_.wrong.push_back(std::move(text)); }
  void set_up();
  [[nodiscard]] bool is_of_the_disk(const std::string& text) const;
  void make_receiver();
  void make_emulators();
  void go();
  void perform(const Order& order);
  void pause_all();
  void resume_all(double rate_hz);
  void end_here();
  void lose_power();
  void stop_sources();
  void wait_for_sources();
  void finish();
  void check();
  void check_promises();
  void check_disk();
  void check_files();
  void take_down();
  [[nodiscard]] bool sources_done() const;
  [[nodiscard]] bool alive(std::size_t emulator) const {
    return !world::killed(kFirstEmulator + static_cast<Process>(emulator));
  }

  const Scenario& scenario_;
  Slice slice_;
  std::filesystem::path folder_;
  Result result_;
  std::shared_ptr<const dataset::Dataset> dataset_;
  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Findings>> found_;
  std::unique_ptr<receiver::Receiver> receiver_;
  std::vector<std::unique_ptr<emulator::Emulator>> emulators_;
  std::vector<link::Endpoint> destinations_;
  std::vector<std::uint64_t> sent_;
  std::vector<receiver::DtpEnd> ends_;
  std::int64_t begun_ns_ = 0;
  std::int64_t disturbed_ns_ = 0;
  bool finished_ = false;  // the receiver was told
  bool aborted_ = false;
  std::optional<std::uint64_t> in_files_;  // that the sink hdf5 says it has written
  std::optional<std::uint64_t> safe_;      // the power has failed, when so many images were written
  bool sources_done_ = false;              // by themselves
  bool in_error_ = false;                  // a reliable connection
  std::uint64_t skipped_ = 0;
};

// An error of a disk that has failed names its file, or the sink.
bool Player::is_of_the_disk(const std::string& text) const {
  const auto has = [&](const std::string& words) { return text.find(words) != std::string::npos; };
  return disk::failed() && (has(folder_.string()) || has("raw sink: ") || has("hdf5 sink: ") || has("hdf5: "));
}

void Player::set_up() {
  // No two frames of a run are alike: bytes of another one are always seen.
  dataset_ =
      dataset::make_pattern({scenario_.width, scenario_.height, PixelType::u16}, scenario_.modules, scenario_.frames);
  parts_ = parts_of(scenario_, 0);
  make_receiver();
  make_emulators();
}

void Player::make_receiver() {
  const As receiver(kReceiver);
  receiver::BufferConfig buffer = buffer_of(scenario_, parts_);
  buffer.end = scenario_.has(Deed::end_here) ? End::told : End::known;
  for (const SinkHabit& habit : scenario_.sinks) {
    found_.push_back(std::make_unique<Findings>());
    Findings& found = *found_.back();
    const std::uint64_t number = found_.size();
    receiver::SinkConfig sink([this, &found, habit, number](const receiver::Output&) {
      return std::make_unique<CheckingSink>(scenario_, habit, number, dataset_, parts_, found, false);
    });
    sink.name = "checks";
    if (habit.drops) sink.on_full = receiver::OnFull::drop;
    sink.queue = habit.queue;
    buffer.sinks.push_back(std::move(sink));
  }
  if (scenario_.raw) {
    disk::begin(scenario_.seed, folder_, scenario_.disk);
    buffer.sinks.emplace_back(sink::RawOptions{.prefix = (folder_ / "run").string(),
                                               .images_per_file = scenario_.raw_images,
                                               .io = sink::BlockWay::threads,
                                               .in_flight = scenario_.raw_in_flight});
  }
  if (scenario_.hdf5) {
    disk::begin(scenario_.seed, folder_, scenario_.disk);
    const Hdf5Shape& files = *scenario_.hdf5;
    buffer.sinks.emplace_back(
        sink::Hdf5Options{.prefix = (folder_ / "run").string(),
                          .images_per_file = files.images_per_file,
                          .threads = files.threads,
                          .existing = files.replaces ? sink::Existing::replace : sink::Existing::refuse,
                          .series_images = files.series_images});
  }
  receiver_ = std::make_unique<receiver::Receiver>(receiver_of(scenario_, std::move(buffer)));
  destinations_ = receiver_->endpoints();
}

void Player::make_emulators() {
  std::vector<link::Endpoint> sources(parts_.size());
  const std::uint32_t emulators = std::min(scenario_.emulators, scenario_.modules);
  for (std::uint32_t e = 0; e < emulators; ++e) {
    const As emulator(kFirstEmulator + static_cast<Process>(e));
    emulator::Config config;
    config.dataset = dataset_;
    config.link = scenario_.roce;
    config.frames = scenario_.frames;
    config.end = scenario_.has(Deed::end_here) ? End::told : End::known;
    config.rate_hz = scenario_.rate_hz;
    config.flow = scenario_.flow;
    config.on_full = scenario_.on_full;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < parts_.size(); ++place) {
      const Part& part = parts_[place];
      if (part.module % emulators != e) continue;
      places.push_back(place);
      config.dtps.push_back({{.id = part.id,
                              .module = part.module,
                              .region = {0, part.first, scenario_.width, part.lines},
                              .slice = slice_,
                              .images = slice_.images(scenario_.frames),
                              .placement = receiver_->placements()[place],
                              .run = 7},
                             destinations_[place]});
    }
    emulators_.push_back(std::make_unique<emulator::Emulator>(config));
    const auto ends = emulators_.back()->endpoints();
    for (std::size_t i = 0; i < places.size(); ++i) sources[places[i]] = ends[i];
  }
  receiver_->arm(sources);
}

bool Player::sources_done() const {
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (alive(e) && !emulators_[e]->wait(0)) return false;
  }
  return true;
}

void Player::go() {
  {
    const As receiver(kReceiver);
    receiver_->start();
  }
  begun_ns_ = world::now();
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    const As emulator(kFirstEmulator + static_cast<Process>(e));
    emulators_[e]->start();
  }
  for (const Order& order : scenario_.orders) {
    while (world::now() < begun_ns_ + order.at_ns && !sources_done()) {
      sleep_until(std::min(world::now() + 2 * kMs, begun_ns_ + order.at_ns));
    }
    if (aborted_ || finished_) break;
    perform(order);
    say_logs();
  }
  if (aborted_) return;
  wait_for_sources();
  finish();
}

void Player::perform(const Order& order) {
  world::trace(fmt::format("order: {} ({:.3f} ms)", name_of(order.deed), static_cast<double>(order.ns) * 1e-6));
  switch (order.deed) {
    case Deed::freeze_source:
      world::freeze(kFirstEmulator, world::now() + order.ns);
      disturbed_ns_ += order.ns;
      break;
    case Deed::freeze_receiver:
      world::freeze(kReceiver, world::now() + order.ns);
      disturbed_ns_ += std::min(order.ns, RunningClock::kLongestStepNs);  // the rest is held against nobody
      break;
    case Deed::part:
      network()->parted_until = world::now() + order.ns;
      disturbed_ns_ += order.ns;
      break;
    case Deed::pause:
      pause_all();
      sleep_until(world::now() + order.ns);
      resume_all(0);
      break;
    case Deed::pace:
      if (scenario_.rate_hz == 0) break;
      pause_all();
      resume_all(100.0 + static_cast<double>(order.ns % 4000));
      break;
    case Deed::end_here:
      end_here();
      break;
    case Deed::stop:
      stop_sources();
      break;
    case Deed::abort: {
      aborted_ = true;
      const std::int64_t since = world::now();
      receiver_->stop();
      result_.ns = world::now() - since;
      stop_sources();
      break;
    }
    case Deed::kill_source:
      world::kill(kFirstEmulator);
      network()->close_all(kFirstEmulator);
      break;
    case Deed::jump:
      world::jump_wall(order.ns);
      break;
    case Deed::lose_power:
      lose_power();
      break;
    case Deed::look:
    default:  // the rest are orders of groups
      static_cast<void>(receiver_->status());
      receiver_->observe();
      for (std::size_t e = 0; e < emulators_.size(); ++e) {
        if (alive(e)) static_cast<void>(emulators_[e]->status());
      }
      break;
  }
}

void Player::lose_power() {
  if (!scenario_.raw) return;
  const std::vector<receiver::SinkStatus> sinks = receiver_->status().buffers[0].sinks;
  safe_ = sinks.back().written;
  aborted_ = true;
  world::kill(kReceiver);
  network()->close_all(kReceiver);
  disk::lose_power();
  stop_sources();
}

void Player::check_disk() {
  bool done = false;
  const std::string text = repaired((folder_ / "run").string(), done);
  if (done && std::stoull(text) >= *safe_) return;
  if (!done && *safe_ == 0) return;  // no run had begun
  wrong(fmt::format("{} images were written before the power failed; afterwards: {}", *safe_, text));
}

void Player::check_files() {
  for (std::string& text : files_wrong(folder_, *dataset_, parts_, *in_files_, disk::failed())) wrong(text);
}

// As the manager does: first no deadline passes, then all sources stop before the same frame.
void Player::pause_all() {
  receiver_->hold_deadlines(true);
  std::uint64_t frame = 0;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t e = 0; e < emulators_.size(); ++e) {
      if (!alive(e)) continue;
      emulators_[e]->pause(frame);
      frame = std::max(frame, emulators_[e]->begun());
    }
  }
}

void Player::resume_all(double rate_hz) {
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (alive(e)) emulators_[e]->resume(rate_hz);
  }
  receiver_->hold_deadlines(false);
}

void Player::end_here() {
  pause_all();
  std::uint64_t frames = 0;
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (alive(e)) frames = std::max(frames, emulators_[e]->begun());
  }
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (alive(e)) emulators_[e]->end_at(frames);
  }
  for (const Part& part : parts_) ends_.push_back({.id = part.id, .images = slice_.images(frames)});
  resume_all(0);
}

void Player::stop_sources() {
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (!alive(e)) continue;
    const std::int64_t since = world::now();
    emulators_[e]->stop();
    const double seconds = static_cast<double>(world::now() - since) * 1e-9;
    const bool stood = scenario_.has(Deed::freeze_source);
    if (seconds > kStopS && !stood) wrong(fmt::format("an emulator needs {:.1f} s to stop", seconds));
  }
}

void Player::wait_for_sources() {
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (!alive(e)) continue;
    if (!waited_for([&] { return emulators_[e]->wait(kLookS); })) {
      wrong(fmt::format("emulator {} does not come to its end:\n{}", e, world::describe()));
      stop_sources();
    }
  }
}

void Player::finish() {
  finished_ = true;
  receiver_->finish(ends_);
  if (waited_for([&] { return receiver_->wait(kLookS); })) return;
  wrong("the receiver does not come to its end:\n" + world::describe());
}

void Player::check() {
  if (safe_) return check_disk();
  const std::int64_t since = world::now();
  sources_done_ = !scenario_.has(Deed::stop) && !aborted_ && sources_done();
  receiver_->stop();
  stop_sources();
  result_.ns = since - begun_ns_;
  if (scenario_.calm() && result_.ns > longest_of_calm(scenario_)) {
    wrong(fmt::format("nothing goes wrong, and {} images take {:.1f} ms", scenario_.frames,
                      static_cast<double>(result_.ns) * 1e-6));
  }
  const receiver::Status status = receiver_->status();
  sent_.assign(parts_.size(), 0);
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (!alive(e)) continue;
    const emulator::Status source = emulators_[e]->status();
    for (std::size_t i = 0; i < source.ids.size(); ++i) {
      sent_[source.ids[i]] = source.dtps[i].images_sent;
      skipped_ += source.dtps[i].images_skipped;
      if (source.dtps[i].link["send_errors"] != 0) in_error_ = true;
      const std::uint64_t end = ends_.empty() ? 0 : ends_[source.ids[i]].images;  // 0: it was through before
      if (sources_done_ && source.dtps[i].images_due() < end) {
        wrong(fmt::format("DTP {} was to end after {} images, and had {}", source.ids[i], end,
                          source.dtps[i].images_due()));
      }
    }
  }
  if (scenario_.hdf5) in_files_ = status.buffers[0].sinks.back().written;
  result_.complete = status.buffers[0].books.complete;
  result_.expected = status.buffers[0].books.expected;
  for (std::string& text : books_wrong(status, receiver_->completeness(0), receiver_->decisions(0))) wrong(text);
  for (const auto& found : found_) {
    for (std::string& text : sink_wrong(*found, status.buffers[0].books)) wrong(text);
  }
  check_promises();
}

void Player::check_promises() {
  std::vector<const PathLog*> logs;
  for (const link::Endpoint& end : destinations_) logs.push_back(network()->log(end.port, end.qpn));
  for (std::size_t place = 0; place < logs.size() && sources_done_ && !in_error_; ++place) {
    const std::uint64_t out = logs[place] == nullptr ? 0 : logs[place]->images;
    if (out < sent_[place]) {
      wrong(fmt::format("DTP {} has sent {} images, and the network has seen {}", parts_[place].id, sent_[place], out));
    }
  }
  const Promised promised = promised_of(scenario_, disturbed_ns_, aborted_, in_error_, world::killed(kFirstEmulator));
  for (std::string& text : fates_wrong(scenario_, promised, receiver_->completeness(0), logs)) wrong(text);
}

void Player::take_down() {
  if (safe_) {
    static_cast<void>(receiver_.release());  // its threads are in it for ever
  } else {
    receiver_.reset();
  }
  for (std::size_t e = 0; e < emulators_.size(); ++e) {
    if (alive(e)) {
      emulators_[e].reset();
    } else {
      static_cast<void>(emulators_[e].release());  // its threads are in it for ever
    }
  }
  if (in_files_) check_files();
  if (world::threads() != 1) wrong("threads are left:\n" + world::describe());
  if (!safe_ && !world::killed(kFirstEmulator) && network()->sockets() != 0) {
    wrong(fmt::format("{} sockets are left", network()->sockets()));
  }
}

}  // namespace

Result play(const Scenario& scenario, const std::filesystem::path& folder) {
  world::begin(scenario.seed, kLimitNs);
  auto* const net = new Network(scenario.seed);  // for as long as there are killed threads
  net->faults = scenario.network;
  network() = net;
  log::set_level(log::Level::debug);
  return scenario.group ? play_group(scenario) : Player(scenario, folder).run();
}

}  // namespace rashpa::simulation
