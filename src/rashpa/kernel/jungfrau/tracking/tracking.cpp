// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"

namespace rashpa::kernel::jungfrau {

namespace {

constexpr float kLeastRms = 1e-6F;  // ADU: below, a pixel that does not move, as with 0
constexpr std::size_t kBlock = 64;  // groups whose tables stay in the first-level caches

/// Returns where the number of a pixel stands in its group's 64: even pixels, then odd ones.
constexpr std::size_t place_of(std::size_t pixel) noexcept {
  return pixel / kGroup * kGroup + pixel % 2 * (kGroup / 2) + pixel % kGroup / 2;
}

}  // namespace

AtStart::AtStart(const Config& config, const Prepared& calibration) {
  const std::size_t pixels = calibration.pixels();
  const std::vector<float>& rms = config.calibration.rms;
  if (rms.size() != pixels) {
    throw ConfigError(
        "kernel jungfrau: track: the calibration has no RMS of its pedestals; make one that has by rashpa calibrate "
        "pedestal, or set track = \"off\"");
  }
  const std::size_t padded = (pixels + kGroup - 1) / kGroup * kGroup;
  pedestal.assign(padded, 0);
  variance.assign(padded, 0);
  inverse_sigma.assign(padded, 0);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    if ((calibration.invalid_g0(pixel / kGroup) >> (pixel % kGroup) & 1U) != 0) continue;
    if (!std::isfinite(rms[pixel]) || rms[pixel] < 0) {
      throw ConfigError(
          fmt::format("kernel jungfrau: track: the RMS of the pedestal of pixel ({}, {}) is {}; it must be a "
                      "number, or the pixel masked",
                      pixel % config.calibration.width, pixel / config.calibration.width, rms[pixel]));
    }
    pedestal[pixel] = config.calibration.pedestal[pixel];
    variance[pixel] = rms[pixel] * rms[pixel];
    inverse_sigma[pixel] = rms[pixel] >= kLeastRms ? 1.0F / rms[pixel] : 0.0F;
  }
}

std::string DriftAlarm::notice() const {
  const double median = seen_.load(std::memory_order_relaxed);
  if (median == 0) return {};
  return fmt::format(
      "jungfrau: the pedestals have moved by {:.2f} RMS (median), the drift_alarm is {:g}; calibrate again", median,
      at_);
}

Tracker::Tracker(const Config& config, Prepared& calibration, unsigned workers)
    : calibration_(&calibration), settings_(config.tracking), inverse_(1.0F / static_cast<float>(settings_.images)) {
  const AtStart known(config, calibration);
  const std::size_t padded = known.pedestal.size();
  variances_ = memory::Buffer(padded * sizeof(float), memory::MemoryKind::huge);
  start_.resize(padded);
  inverse_sigma_.resize(padded);
  for (std::size_t pixel = 0; pixel < padded; ++pixel) {
    const std::size_t place = place_of(pixel);
    variance()[place] = known.variance[pixel];
    start_[place] = known.pedestal[pixel];
    inverse_sigma_[place] = known.inverse_sigma[pixel];
  }
  histograms_.resize(workers);
  for (Histogram& histogram : histograms_) histogram.bins.resize(kDriftBins);
}

void Tracker::begin() noexcept {
  if (looking_) {
    std::vector<std::uint32_t>& sum = histograms_[0].bins;
    float worst = histograms_[0].worst;
    for (std::size_t worker = 1; worker < histograms_.size(); ++worker) {
      for (std::size_t bin = 0; bin < kDriftBins; ++bin) sum[bin] += histograms_[worker].bins[bin];
      worst = std::max(worst, histograms_[worker].worst);
    }
    std::uint64_t all = 0;
    for (const std::uint32_t count : sum) all += count;
    std::uint64_t below = 0;
    std::size_t middle = 0;
    while (middle + 1 < kDriftBins && (below + sum[middle]) * 2 < all) below += sum[middle++];
    drift_ = drift_of(middle, worst);
  }
  followed_ += in_hand_;
  in_hand_ = 0;
  looking_ = followed_ >= next_look_;
  if (!looking_) return;
  next_look_ = followed_ + images_between_looks(settings_);
  for (Histogram& histogram : histograms_) {
    std::fill(histogram.bins.begin(), histogram.bins.end(), 0U);
    histogram.worst = 0;
  }
}

void Tracker::follow(unsigned worker, const Images& images, std::size_t first, std::size_t last) noexcept {
  const std::size_t whole = first + (last - first) / kGroup * kGroup;
  for (std::size_t begin = first; begin < last; begin += kBlock * kGroup) {
    const std::size_t groups = (std::min(begin + kBlock * kGroup, std::max(whole, begin)) - begin) / kGroup;
    const std::size_t tail = begin + kBlock * kGroup >= last ? last - whole : 0;
    bool empty = settings_.where_empty();
    for (std::size_t i = 0; i < images.count; ++i) {
      const bool dark = images.dark[i] != 0;
      if (!dark && !empty) continue;
      if (!dark) empty = false;  // one image a call: a stack, or an image of its own
      if (begin == 0) in_hand_ += 1;
      const Follow how{inverse_, dark ? 0.0F : static_cast<float>(settings_.sigma)};
      follow_groups(calibration_->table(0, begin / kGroup), variance() + begin, groups, images.raw[i] + begin, how);
      if (tail == 0) continue;
      std::uint16_t padded[kGroup];
      std::fill(std::begin(padded), std::end(padded), kReadoutErrorOnes);
      std::memcpy(padded, images.raw[i] + whole, tail * sizeof(std::uint16_t));
      follow_groups(calibration_->table(0, whole / kGroup), variance() + whole, 1, padded, how);
    }
  }
  if (!settings_.at_once()) look_at(worker, first, last);
}

void Tracker::look(Histogram& histogram, std::size_t first, std::size_t last) noexcept {
  for (std::size_t begin = first; begin < last; begin += kGroup) {
    const float* pedestal = calibration_->table(0, begin / kGroup);
    for (std::size_t i = 0; i < kGroup; ++i) {
      if (inverse_sigma_[begin + i] == 0) continue;
      const float far = std::abs(pedestal[i] - start_[begin + i]) * inverse_sigma_[begin + i];
      histogram.worst = std::max(histogram.worst, far);
      histogram.bins[static_cast<std::size_t>(std::min(far * kBinsPerSigma, static_cast<float>(kDriftBins - 1)))] += 1;
    }
  }
}

Running Tracker::at(std::size_t pixel) const noexcept {
  return {calibration_->table(0, pixel / kGroup)[place_of(pixel) % kGroup], variance()[place_of(pixel)]};
}

}  // namespace rashpa::kernel::jungfrau
