// SPDX-License-Identifier: Apache-2.0
#include "power/stored_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "disk.hpp"
#include "power/recording.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
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

void play_one(const StoredRun& run, const std::filesystem::path& folder, bool earlier) {
  Dice dice(run.seed, earlier ? "earlier" : "pauses");
  sink::Hdf5Config config = config_of(run, folder);
  if (earlier) config.images = run.images / 2 + 1;
  const std::uint64_t images = config.images;
  if (!run.end_known) config.end = End::told;
  sink::Hdf5Sink sink(config);
  mark(kBegins, 0);
  sink.begin();
  Books books;
  for (std::uint64_t first = 0; first < images; first += run.stack) {
    Filled filled{.form = run.form};
    fill(run, first, std::min(first + run.stack, images), earlier, filled);
    sink::put_and_mark(sink, filled.stack);
    for (const StackImage& image : filled.stack.view()) {
      books.expected += 1;
      books.complete += 1;
      books.accepted += image.decision == Decision::accepted ? 1U : 0U;
      books.vetoed += image.decision == Decision::vetoed ? 1U : 0U;
      books.errored += image.decision == Decision::errored ? 1U : 0U;
    }
    pause(dice);
    sink.poll();
    mark(kPut, run.form == sink::ImageForm::raw ? sink.stats().images_written : 0);
  }
  if (const auto lost = sink.settle(); !lost.empty()) throw std::runtime_error("lost: " + lost[0].reason);
  books.written = sink.stats().images_written;
  mark(kSettled, books.written);
  sink.close(books);
  mark(kClosed, books.written);
  if (!sink.error().empty()) throw std::runtime_error(sink.error());
}

}  // namespace

std::string StoredRun::describe() const {
  constexpr std::array<const char*, 3> kForms{"dense", "sparse", "raw"};
  return fmt::format(
      "{}, {} × {} pixels, {} images in stacks of {}, {} a file, {} threads{}{}{}{}, names are safe by {}",
      kForms[static_cast<std::size_t>(form)], width, height, images, stack, images_per_file, threads,
      tables ? ", with tables and profiles" : "", accumulations ? ", with windows" : "",
      earlier ? ", over an earlier run" : "", end_known ? "" : ", of unknown end",
      names_by_any_sync ? "any sync" : "a sync of the folder");
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
  disk::begin(run.seed, folder, {});
  if (run.earlier) {
    play_one(run, folder, true);
    mark(kEarlierDone, run.images / 2 + 1);
  }
  play_one(run, folder, false);
  store(recorded(), trace);
}

}  // namespace rashpa::simulation::power
