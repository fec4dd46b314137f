// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/jungfrau_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/dataset/jungfrau/crystal_scene.hpp"
#include "rashpa/dataset/jungfrau/pixel_row.hpp"
#include "rashpa/dataset/random.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint64_t kPurposeKinds = 0x6A660021;
constexpr std::uint64_t kPurposeCommonMode = 0x6A660022;
constexpr std::uint64_t kPurposeRow = 0x6A660023;
constexpr std::uint64_t kPurposePixel = 0x6A660024;
constexpr float kBlankBackground = 0.85F;  // no crystal in the beam
constexpr float kSpotReach = 5;            // standard deviations
constexpr float kMostAdu = 16383;

void require(bool good, const std::string& why) {
  if (!good) throw ConfigError("jungfrau simulator: " + why);
}

JungfrauParameters checked(const JungfrauParameters& p) {
  require(p.modules >= 1 && p.modules <= 64, fmt::format("modules = {}; give 1 to 64", p.modules));
  require(p.frames >= 1, "frames = 0; give at least 1");
  require(p.energy_kev >= 2 && p.energy_kev <= 100, fmt::format("energy_kev = {}; give 2 to 100", p.energy_kev));
  require(p.hit_fraction >= 0 && p.hit_fraction <= 1, fmt::format("hit_fraction = {}; give 0 to 1", p.hit_fraction));
  require(p.spots <= 10000, fmt::format("spots = {}; give at most 10000", p.spots));
  require(p.background_photons >= 0 && p.background_photons <= 1000,
          fmt::format("background_photons = {}; give 0 to 1000", p.background_photons));
  require(p.places.empty() || p.places.size() == p.modules,
          fmt::format("{} places for {} modules; give one each", p.places.size(), p.modules));
  require(std::ranges::all_of(p.places, [](const ModulePlace& at) { return at.orientation.valid(); }),
          "a module has an angle that is none of four; turn it by 0, 90, 180 or 270°");
  constexpr std::uint32_t kFarthestPlace = 1U << 20U;
  require(std::ranges::all_of(p.places,
                              [](const ModulePlace& at) { return at.x <= kFarthestPlace && at.y <= kFarthestPlace; }),
          "a place beyond 1048576 pixels; give the module's place in the assembled image");
  return p;
}

/// Darks at their places; the hits dealt at random among the rest, exactly as many as the fraction says.
std::vector<FrameKind> kinds_of(const JungfrauParameters& p) {
  std::vector<FrameKind> kinds(p.frames, FrameKind::dark);
  std::vector<std::uint64_t> light;
  for (std::uint64_t n = 0; n < p.frames; ++n) {
    if (p.dark_every == 0 || n % p.dark_every != p.dark_every - 1) light.push_back(n);
  }
  Random random(p.seed, kPurposeKinds);
  const auto hits = static_cast<std::uint64_t>(std::llround(p.hit_fraction * static_cast<double>(light.size())));
  for (std::size_t i = 0; i < light.size(); ++i) {
    std::swap(light[i], light[i + random.next() % (light.size() - i)]);
    kinds[light[i]] = i < hits ? FrameKind::hit : FrameKind::blank;
  }
  return kinds;
}

/// Calls work(0) … work(count − 1), each once, on `threads` threads. Throws what a call threw first, after all threads
/// have ended.
void in_parallel(std::uint64_t count, unsigned threads, const std::function<void(std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next{0};
  std::once_flag once;
  std::exception_ptr first;
  const auto loop = [&] {
    try {
      for (std::uint64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      std::call_once(once, [&] { first = std::current_exception(); });
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads && i < count; ++i) helpers.emplace_back(loop);
    loop();
  }
  if (first) std::rethrow_exception(first);
}

/// Adds the spots' expected photons to one line of a module, whose first pixel lies at (x0, y) of the detector.
void add_spots(std::span<float> line, float x0, float y, std::span<const Spot> spots) noexcept {
  for (const Spot& spot : spots) {
    const float reach = kSpotReach * spot.sigma;
    const float dy = y - spot.y;
    if (std::abs(dy) > reach) continue;
    const float two_variance = 2 * spot.sigma * spot.sigma;
    const float height = spot.photons / (3.14159265F * two_variance) * std::exp(-dy * dy / two_variance);
    const auto last = static_cast<float>(line.size() - 1);
    const float begin = std::max(0.0F, std::ceil(spot.x - reach - x0));
    const float end = std::min(last, std::floor(spot.x + reach - x0));
    if (begin > end) continue;
    for (auto x = static_cast<std::size_t>(begin); x <= static_cast<std::size_t>(end); ++x) {
      const float dx = static_cast<float>(x) + x0 - spot.x;
      line[x] += height * std::exp(-dx * dx / two_variance);
    }
  }
}

/// The response of a module's pixels to photons; `normal` is the number of its noise.
class Electronics {
 public:
  Electronics(const JungfrauModule& module, std::span<const float> g0_below_kev, double energy_kev,
              std::array<float, kJungfrauChips> common_mode) noexcept
      : module_(module),
        g0_below_kev_(g0_below_kev),
        energy_(static_cast<float>(energy_kev)),
        common_mode_(common_mode) {}

  void read_row(std::uint32_t row, const PixelRow& pixels, Columns& left,
                std::span<std::uint16_t, kJungfrauWidth> out) const noexcept {
    const std::size_t first = std::size_t{row} * kJungfrauWidth;
    RowInG0 g0{
        &module_.pedestal[first], &module_.gain[first], &module_.noise[first], &g0_below_kev_[first], {}, energy_};
    for (std::size_t i = 0; i < g0.chip.size(); ++i)
      g0.chip[i] = common_mode_[row / kJungfrauChip * g0.chip.size() + i];
    read_row_in_g0(g0, pixels, kMostAdu, out, left);
    for (const std::uint32_t column : left.seen()) {
      out[column] = other_word(first + column, energy_ * pixels.photons[column], pixels.normal[column]);
    }
  }

 private:
  /// Returns the word of a pixel that is not in G0.
  [[nodiscard]] std::uint16_t other_word(std::size_t at, float kev, float normal) const noexcept {
    const PixelKind kind = module_.kind[at];
    if (kind == PixelKind::dead) return 0;
    if (kind != PixelKind::always_g2 && (kev < module_.to_g2_kev[at] || kind == PixelKind::always_g1)) {
      const float value = adu(1, at, kev) + noise(1) * normal;
      if (value > 1 || kind == PixelKind::always_g1)
        return coded(1, std::max(value, 1.0F));  // 0x4000 means a readout error
    }
    return coded(3, std::clamp(adu(2, at, kev) + noise(2) * normal, 0.0F, kMostAdu - 1));  // 0xC000: overflow
  }
  [[nodiscard]] float adu(std::size_t gain, std::size_t at, float kev) const noexcept {
    const std::size_t i = gain * kJungfrauPixels + at;
    return module_.pedestal[i] + module_.gain[i] * kev;
  }
  static float noise(std::size_t gain) noexcept { return static_cast<float>(JungfrauFacts{}.noise_adu[gain]); }
  static std::uint16_t coded(std::uint32_t code, float value) noexcept {
    const auto adu = static_cast<std::uint32_t>(std::min(kMostAdu, std::round(value)));
    return static_cast<std::uint16_t>(code << 14 | adu);
  }
  const JungfrauModule& module_;
  std::span<const float> g0_below_kev_;
  float energy_;
  std::array<float, kJungfrauChips> common_mode_;
};

/// Returns where pixels leave G0; those that are never in it do so before anything comes.
std::vector<float> g0_below_kev(const JungfrauModule& module) {
  std::vector<float> out = module.to_g1_kev;
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (module.kind[at] != PixelKind::normal) out[at] = -1;
  }
  return out;
}

/// Draws the photons of a pixel that draw_row() has left: one with a large mean, or a quantile near 1.
float rare_photons(float mean, Random& random) noexcept {
  constexpr float kMost = 65535;
  if (mean >= kVectorMean) return std::min(kMost, static_cast<float>(random.poisson(mean)));
  return static_cast<float>(poisson_at(mean, kLeftQuantile + (1 - kLeftQuantile) * random.uniform()));
}

/// Makes frames of one detector; const, hence usable by any number of threads.
class Maker {
 public:
  Maker(const JungfrauParameters& p, const std::vector<JungfrauModule>& calibration,
        const std::vector<FrameKind>& kinds)
      : p_(p),
        calibration_(calibration),
        kinds_(kinds),
        scene_(p.places.empty() ? gapless_places(p.modules) : p.places, p.energy_kev, p.background_photons) {
    spots_.resize(p.frames);
    in_parallel(p.frames, p.threads, [&](std::uint64_t n) {
      if (kinds_[n] == FrameKind::hit) spots_[n] = scene_.spots(p_.seed, n, p_.spots);
    });
    background_.resize(p.modules);
    g0_below_kev_.resize(p.modules);
    in_parallel(p.modules, p.threads, [&](std::uint64_t m) {
      background_[m] = background_of(static_cast<std::uint32_t>(m));
      g0_below_kev_[m] = g0_below_kev(calibration_[m]);
    });
  }

  /// `truth` is empty or has a value for each pixel.
  void make(std::uint32_t module, std::uint64_t frame, std::span<std::byte> words,
            std::span<std::uint16_t> truth) const {
    Random random(p_.seed, kPurposeCommonMode, module, frame);
    std::array<float, kJungfrauChips> common_mode{};
    for (float& offset : common_mode) offset = static_cast<float>(JungfrauFacts{}.common_mode_adu) * random.normal();
    const Electronics electronics(calibration_[module], g0_below_kev_[module], p_.energy_kev, common_mode);
    std::vector<Spot> spots = spots_[frame];
    for (Spot& spot : spots) spot = scene_.seen_by(module, spot);
    std::array<float, kJungfrauWidth> expected{};
    std::array<std::uint16_t, kJungfrauWidth> line{};
    PixelRow pixels;
    Columns left;
    for (std::uint32_t row = 0; row < kJungfrauHeight; ++row) {
      expect(expected, module, frame, row, spots);
      draw_row(Random(p_.seed, kPurposeRow, module, frame, row).state(), expected, pixels, left);
      for (const std::uint32_t column : left.seen()) {
        Random own(p_.seed, kPurposePixel, module, frame, std::size_t{row} * kJungfrauWidth + column);
        pixels.photons[column] = rare_photons(expected[column], own);
      }
      electronics.read_row(row, pixels, left, line);
      std::memcpy(words.data() + row * sizeof(line), line.data(), sizeof(line));
      if (!truth.empty()) std::ranges::copy(pixels.photons, truth.begin() + std::ptrdiff_t{row} * kJungfrauWidth);
    }
  }

 private:
  void expect(std::span<float> out, std::uint32_t module, std::uint64_t frame, std::uint32_t row,
              std::span<const Spot> spots) const noexcept {
    if (kinds_[frame] == FrameKind::dark) return;  // out stays 0
    const float scale = kinds_[frame] == FrameKind::hit ? 1.0F : kBlankBackground;
    const float* background = background_[module].data() + std::size_t{row} * kJungfrauWidth;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * background[i];
    add_spots(out, scene_.module_x(module), scene_.module_y(module) + static_cast<float>(row), spots);
  }
  [[nodiscard]] std::vector<float> background_of(std::uint32_t module) const {
    std::vector<float> out(kJungfrauPixels);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = scene_.background(module, static_cast<std::uint32_t>(i % kJungfrauWidth),
                                 static_cast<std::uint32_t>(i / kJungfrauWidth));
    }
    return out;
  }

  const JungfrauParameters& p_;
  const std::vector<JungfrauModule>& calibration_;
  const std::vector<FrameKind>& kinds_;
  CrystalScene scene_;
  std::vector<std::vector<Spot>> spots_;
  std::vector<std::vector<float>> background_;
  std::vector<std::vector<float>> g0_below_kev_;
};

}  // namespace

JungfrauDataset::JungfrauDataset(const JungfrauParameters& parameters, Making* making)
    : MemoryDataset({kJungfrauWidth, kJungfrauHeight, PixelType::u16}, checked(parameters).modules, parameters.frames),
      parameters_(parameters),
      kinds_(kinds_of(parameters)) {
  if (parameters_.threads == 0) parameters_.threads = memory::processor_count();
  if (parameters_.truth == Truth::keep) {
    truth_ = {parameters_.modules * parameters_.frames * shape().frame_bytes(), memory::MemoryKind::pageable};
  }
  calibration_.resize(parameters_.modules);
  in_parallel(parameters_.modules, parameters_.threads, [&](std::uint64_t m) {
    calibration_[m] = make_jungfrau_module(parameters_.seed, static_cast<std::uint32_t>(m));
  });
  const Maker maker(parameters_, calibration_, kinds_);
  if (making != nullptr) making->begin(parameters_.modules * parameters_.frames);
  in_parallel(parameters_.modules * parameters_.frames, parameters_.threads, [&](std::uint64_t i) {
    const auto module = static_cast<std::uint32_t>(i % parameters_.modules);
    const std::uint64_t frame = i / parameters_.modules;
    const std::span<const std::uint16_t> truth = photons(module, frame);
    maker.make(module, frame, writable(module, frame), {const_cast<std::uint16_t*>(truth.data()), truth.size()});
    if (making != nullptr) making->count();
  });
  for (std::uint64_t n = 0; n < frames(); ++n) set_flags(n, kinds_[n] == FrameKind::dark ? FrameRecord::dark : 0U);
}

std::span<const std::uint16_t> JungfrauDataset::photons(std::uint32_t module, std::uint64_t frame) const noexcept {
  if (truth_.size() == 0) return {};
  const std::uint64_t index = module * frames() + frame;
  return {reinterpret_cast<const std::uint16_t*>(truth_.data()) + index * kJungfrauPixels, kJungfrauPixels};
}

}  // namespace rashpa::dataset
