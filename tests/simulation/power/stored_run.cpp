// SPDX-License-Identifier: Apache-2.0
#include "power/stored_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include "disk.hpp"
#include "power/recording.hpp"
#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/repair/convert.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "rashpa/sink/series_sink.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::simulation::power {

namespace {

constexpr std::int64_t kLimitNs = 600'000'000'000;
constexpr std::uint64_t kWindow = 4;

template <typename T, std::size_t N>
T one_of(Dice& dice, const std::array<T, N>& all) noexcept {
  return all[dice.below(N)];
}

/// The images of one stack, with all that belongs to them.
struct Filled {
  sink::ImageForm form;
  Stack stack{};
  std::vector<std::vector<std::uint16_t>> pixels{};
  std::vector<std::vector<std::uint32_t>> index{};
  std::vector<std::vector<Scalar>> rows{};
  std::vector<std::vector<double>> bins{};
  std::vector<std::int64_t> sum{};
};

void add_results(const StoredRun& run, std::uint64_t frame, Filled& to, StackImage& image) {
  std::vector<Scalar>& rows = to.rows.emplace_back();
  for (std::uint32_t row = 0; row < run.rows(frame); ++row) {
    rows.push_back(Scalar::of_count(run.value(frame, row)));
    rows.push_back(Scalar::of_real(static_cast<double>(row) + 0.5));
  }
  image.tables[0] = {rows.data(), run.rows(frame)};
  std::vector<double>& bins = to.bins.emplace_back();
  for (std::size_t bin = 0; bin < kBins; ++bin) bins.push_back(run.bin(frame, bin));
  image.profiles[0] = {bins.data()};
}

void fill(const StoredRun& run, std::uint64_t first, std::uint64_t end, bool earlier, Filled& to) {
  for (std::uint64_t i = first; i < end; ++i) {
    const std::uint64_t frame = run.frame(i, earlier);
    StackImage& image = to.stack.images.emplace_back();
    image.index = i;
    image.frame_number = frame;
    image.timestamp_ns = 5000 + frame;
    image.completeness = Completeness::complete;
    image.decision = run.accepted(i) ? Decision::accepted : Decision::vetoed;
    image.reason = run.accepted(i) ? VetoReason::none : VetoReason::too_few;
    image.measured = true;
    to.pixels.push_back(run.image(frame));
    if (to.form == sink::ImageForm::sparse) {
      std::vector<std::uint32_t>& index = to.index.emplace_back(run.pixels());
      for (std::size_t at = 0; at < index.size(); ++at) index[at] = static_cast<std::uint32_t>(at);
      image.sparse = {index.data(), to.pixels.back().data(), static_cast<std::uint32_t>(index.size())};
    } else {
      image.pixels = reinterpret_cast<const std::byte*>(to.pixels.back().data());
    }
    if (run.tables && run.accepted(i)) add_results(run, frame, to, image);
  }
  to.stack.count = static_cast<std::uint32_t>(to.stack.images.size());
  if (!run.accumulations || end % kWindow != 0) return;
  const std::uint64_t window = end / kWindow - 1;
  for (std::size_t pixel = 0; pixel < run.pixels(); ++pixel) to.sum.push_back(run.sum(window, pixel));
  to.stack.accumulated[0] = {
      {reinterpret_cast<const std::byte*>(to.sum.data())}, window, window * kWindow, end, kWindow};
}

void pause(Dice& dice) {
  // wait: of virtual time, in which a disk does what it was asked for
  if (dice.chance(0.5)) std::this_thread::sleep_for(std::chrono::milliseconds(dice.between(1, 120)));
}

std::unique_ptr<sink::Sink> sink_of(const StoredRun& run, const sink::Hdf5Config& config) {
  if (run.in_series == 0) return std::make_unique<sink::Hdf5Sink>(config);
  const std::uint64_t most = (config.images + run.in_series - 1) / run.in_series;
  return std::make_unique<sink::SeriesSink>(run.in_series, most,
                                            [config, length = run.in_series](std::uint64_t series) {
                                              sink::Hdf5Config own = config;
                                              own.prefix += fmt::format("_s{:04}", series);
                                              own.images = std::min(length, config.images - (series - 1) * length);
                                              own.slice.phase += (series - 1) * length * own.slice.every;
                                              return std::make_unique<sink::Hdf5Sink>(own);
                                            });
}

void convert(const StoredRun& run, const std::filesystem::path& folder, std::uint64_t images,
             const std::string& which) {
  if (run.room_to_convert != UINT64_MAX) leave_room(run.room_to_convert);
  mark(kConverts, images, which);
  const sink::Converted done = sink::convert({.from = (folder / "run").string(),
                                              .to = (folder / kConvertedName).string(),
                                              .existing = sink::Existing::replace,
                                              .images_a_file = run.images_per_file,
                                              .threads = run.threads});
  // The disk of a raw run that was full may lack rows of tables; the images that it has kept must all be there.
  if (done.lost != 0 && run.room == UINT64_MAX) throw std::runtime_error("images were lost while they were converted");
  mark(kConverted, images, which);
}

/// What a disk without room may do: images are errored, or the run is refused or not completed.
class Played {
 public:
  Played(const StoredRun& run, const std::filesystem::path& folder, bool earlier)
      : run_(run), folder_(folder), earlier_(earlier), full_(run.room != UINT64_MAX) {}

  void play() {
    Dice dice(run_.seed, earlier_ ? "earlier" : "pauses");
    sink::Hdf5Config config = config_of(run_, folder_);
    if (earlier_) config.images = run_.images / 2 + 1;
    if (!run_.end_known) config.end = End::told;
    std::unique_ptr<sink::Sink> sink = sink_of(run_, config);
    mark(kBegins, 0);
    sink->begin();
    which_.assign(config.images, '0');
    for (std::uint64_t first = 0; first < config.images; first += run_.stack) {
      put(*sink, first, std::min(first + run_.stack, config.images));
      pause(dice);
      if (auto* const polled = able<sink::Polled>(*sink)) polled->poll();
      mark(kPut, run_.form == sink::ImageForm::raw && !full_ ? sink->stats().images_written : 0);
    }
    if (run_.killed && !earlier_) {
      sink.reset();
      return repair();
    }
    settle(*sink);
    const std::uint64_t written = books_.written;
    mark(kSettled, written, which_);
    sink->close(books_);
    mark(kClosed, written, which_);
    if (!sink->error().empty() && !full_) throw std::runtime_error(sink->error());
    sink.reset();  // lets its files go
    if (run_.converted && !earlier_) convert(run_, folder_, written, which_);
  }

 private:
  void put(sink::Sink& sink, std::uint64_t first, std::uint64_t end) {
    Filled filled{.form = run_.form};
    fill(run_, first, end, earlier_, filled);
    sink::put_and_mark(sink, filled.stack);
    for (const StackImage& image : filled.stack.view()) {
      books_.expected += 1;
      books_.complete += 1;
      books_.accepted += image.decision == Decision::accepted ? 1U : 0U;
      books_.vetoed += image.decision == Decision::vetoed ? 1U : 0U;
      books_.errored += image.decision == Decision::errored ? 1U : 0U;
      if (image.decision == Decision::accepted) which_[image.index] = '1';
    }
    if (books_.errored != 0 && !full_) throw std::runtime_error("images are errored: " + sink.error());
  }
  /// All images are in the files of a sink that is gone.
  void repair() {
    const std::uint64_t written = sink::repair((folder_ / "run").string()).books.written;
    if (written != books_.accepted) throw std::runtime_error("images of a killed process are lost");
    mark(kClosed, written, which_);
  }
  void settle(sink::Sink& sink) {
    const auto lost = sink.settle();
    if (!lost.empty() && !full_) throw std::runtime_error("lost: " + lost[0].reason);
    for (const sink::LostImage& image : lost) which_[image.index] = '0';
    books_.accepted -= lost.size();
    books_.errored += lost.size();
    books_.written = sink.stats().images_written;
    const auto safe = static_cast<std::uint64_t>(std::count(which_.begin(), which_.end(), '1'));
    if (safe != books_.written) {
      throw std::runtime_error(fmt::format("{} images are written, and {} were kept", books_.written, safe));
    }
  }

  const StoredRun& run_;
  const std::filesystem::path& folder_;
  bool earlier_, full_;
  Books books_{};
  std::string which_{};  // a letter an image, '1' of those that are kept
};

void play_one(const StoredRun& run, const std::filesystem::path& folder, bool earlier) {
  try {
    Played(run, folder, earlier).play();
  } catch (const Error& refused) {  // by the disk, in words
    const std::string text = refused.what();
    const bool full = run.room != UINT64_MAX || run.room_to_convert != UINT64_MAX;
    if (!full || text.find("; ") == std::string::npos) throw;
  }
}

}  // namespace

std::string StoredRun::describe() const {
  constexpr std::array<const char*, 3> kForms{"dense", "sparse", "raw"};
  return fmt::format(
      "{}, {} × {} pixels, {} images in stacks of {}, {} a file, {} threads{}{}{}{}{}{}{}{}, names are safe by {}",
      kForms[static_cast<std::size_t>(form)], width, height, images, stack, images_per_file, threads,
      tables ? ", with tables and profiles" : "", accumulations ? ", with windows" : "",
      earlier ? ", over an earlier run" : "", end_known ? "" : ", of unknown end",
      in_series == 0 ? "" : fmt::format(", in series of {}", in_series),
      converted && room_to_convert != UINT64_MAX ? fmt::format(", converted within {} bytes", room_to_convert)
      : converted                                ? std::string(", converted")
                                                 : std::string(),
      killed ? ", killed and repaired" : "", room == UINT64_MAX ? "" : fmt::format(", on a disk of {} bytes", room),
      names_by_any_sync ? "any sync" : "a sync of the folder");
}

std::vector<std::string> StoredRun::names() const {
  if (in_series == 0) return {"run"};
  std::vector<std::string> all;
  for (std::uint64_t first = 0; first < images; first += in_series) {
    all.push_back(fmt::format("run_s{:04}", first / in_series + 1));
  }
  return all;
}

std::vector<std::uint16_t> StoredRun::image(std::uint64_t frame) const {
  std::mt19937 random(static_cast<std::uint32_t>(frame * 31 + seed));
  std::vector<std::uint16_t> made(pixels());
  for (auto& pixel : made) {
    const auto number = static_cast<std::uint32_t>(random());
    pixel = static_cast<std::uint16_t>(1 + (number % 3 == 0 ? (number >> 8U) % 5000 : 0));
  }
  return made;
}

namespace {

void draw_series(Dice& dice, StoredRun& run) {
  run.in_series = run.stack * (1 + dice.below(4));
  run.earlier = run.accumulations = false;
  run.end_known = true;
}

}  // namespace

StoredRun draw_stored(std::uint64_t seed) {
  Dice dice(seed, "stored run");
  StoredRun run{.seed = seed};
  run.form = static_cast<sink::ImageForm>(dice.below(3));
  run.width = one_of(dice, std::array{16U, 61U, 96U});
  run.height = one_of(dice, std::array{16U, 37U, 64U});
  run.stack = one_of(dice, std::array{1U, 2U, 4U});
  run.images = 1 + dice.below(16);
  run.images_per_file = 2 + static_cast<std::uint32_t>(dice.below(8));
  run.threads = 1 + static_cast<unsigned>(dice.below(2));
  run.in_flight = 1 + static_cast<unsigned>(dice.below(4));
  run.tables = dice.chance(0.4);
  run.accumulations = dice.chance(0.3);
  run.earlier = dice.chance(0.4);
  run.end_known = !dice.chance(0.1);
  run.names_by_any_sync = dice.chance(0.5);
  Dice more(seed, "more of stored runs");  // earlier seeds are the runs that they were
  if (more.chance(0.25)) draw_series(more, run);
  if (run.form == sink::ImageForm::raw && run.in_series == 0) run.converted = more.chance(0.5);
  const bool simple = run.form == sink::ImageForm::dense && run.in_series == 0 && !run.tables;
  if (simple && more.chance(0.3)) {
    run.killed = true;
    return run;
  }
  // About as much as the files of the images take.
  Dice room(seed, "room to convert");
  if (run.converted && room.chance(0.5)) run.room_to_convert = room.below(run.images * run.pixels() * 2 + 200'000);
  constexpr std::uint64_t kBeforeImages = 1'200'000;
  if (!run.earlier && more.chance(0.25)) run.room = kBeforeImages + more.below(300'000);
  return run;
}

sink::Hdf5Config config_of(const StoredRun& run, const std::filesystem::path& folder) {
  sink::Hdf5Config config;
  config.prefix = (folder / "run").string();
  config.existing = sink::Existing::replace;
  config.images_per_file = run.images_per_file;
  config.threads = run.threads;
  config.raw = {.way = sink::BlockWay::threads, .in_flight = run.in_flight};
  config.width = run.width;
  config.height = run.height;
  config.form = run.form;
  config.buffer = "full";
  config.images = run.images;
  config.metadata.detector_name = "JUNGFRAU";
  config.metadata.pixel_mask.assign(run.pixels(), 0);
  config.metadata.pixel_mask[5] = 2;
  if (run.tables) {
    config.results.tables = {
        {"peaks", {{.name = "number", .type = Column::Type::u64}, {.name = "place", .type = Column::Type::f64}}, 100}};
    config.results.profiles = {{"azimuthal",
                                {{.name = "I", .type = Column::Type::f64}},
                                {{.name = "radial_axis", .values = std::vector<double>(kBins, 1.0)}},
                                {}}};
  }
  if (run.accumulations) {
    config.results.accumulations = {{.name = "accumulate",
                                     .quantities = {{.name = "sum", .type = Quantity::Type::i64}},
                                     .shape = {run.height, run.width},
                                     .window = kWindow}};
  }
  return config;
}

void record(const StoredRun& run, const std::filesystem::path& folder, const std::filesystem::path& trace) {
  std::filesystem::create_directories(folder);
  log::set_level(log::Level::error);
  world::begin(run.seed, kLimitNs);
  disk::begin(run.seed, folder, {.room = run.room});
  if (run.earlier) {
    play_one(run, folder, true);
    mark(kEarlierDone, run.images / 2 + 1);
  }
  play_one(run, folder, false);
  store(recorded(), trace);
}

}  // namespace rashpa::simulation::power
