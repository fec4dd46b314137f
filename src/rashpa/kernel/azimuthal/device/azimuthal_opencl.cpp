// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/device/azimuthal_opencl.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/kernel/azimuthal/device/by_bin.hpp"

namespace rashpa::kernel::azimuthal {
extern const std::string_view azimuthal_cl;
}

namespace rashpa::kernel::azimuthal::opencl {

namespace {

using memory::opencl::Device;

constexpr std::size_t kFewShares = 256;  // of a bin, on average: one work item does them

/// `struct Found` of azimuthal.cl.
struct Found {
  std::uint64_t signal = 0;    // bits of an int64, or of a double
  std::uint64_t variance = 0;  // the same
  double masked_norm = 0;
  double masked_dark = 0;
  double masked_variance = 0;
  Sums::Spread spread{};
  cl_uint masked = 0;
  cl_uint unused = 0;
};
static_assert(sizeof(Found) == 72);

class Pass final : public kernel::opencl::DevicePass, public kernel::opencl::HostAdding, public Limited {
 public:
  Pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring, std::optional<ProfileSums> summed,
       const Setup& setup, const Device& device)
      : Pass(prepared, ring, std::move(summed), setup, device, by_bin(*prepared)) {}
  [[nodiscard]] Where where() const noexcept override { return Where::both; }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    const auto stride = static_cast<cl_uint>(stack.in_stride / pixel_bytes(format_.type));
    // Where shares are whole, or nothing is dark, some memory all the same: the function has the argument.
    const cl_mem shares = shares_.get() == nullptr ? norm_.get() : shares_.get();
    const cl_mem dark = dark_.get() == nullptr ? norm_.get() : dark_.get();
    const auto bins = static_cast<cl_uint>(prepared_->bins());
    return sum_.run(queue, kernel::opencl::tiles_of(std::size_t{bins} * team_, group_), stack.count, group_, stack.in,
                    stride, stack.books, bins, firsts_.get(), pixels_.get(), shares, norm_.get(), dark,
                    found_.device(bench));
  }
  cl_int fetch(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t bench,
               cl_command_queue queue) const noexcept override {
    return found_.fetch(bench, queue);
  }
  void settle(const kernel::opencl::HostItem& item, Finding& finding) noexcept override {
    const std::size_t bins = prepared_->bins();
    const Found* const found = found_.host<Found>(item.bench) + item.image * bins;
    sums_.clear();
    for (std::size_t bin = 0; bin < bins; ++bin) take(found[bin], bin);
    double* const profile = profile_at(item.place);
    azimuthal::finish(*prepared_, sums_, profile);
    finding.profile = {profile};
    ring_.judge(profile, bins, finding);
  }
  void add(const kernel::opencl::HostItem& item) noexcept override {
    if (summed_) summed_->add(profile_at(item.place));
  }
  void write(const AccumulatedArrays& to) noexcept override {
    if (summed_) summed_->conclude(to, 0, prepared_->bins());
  }
  void adopt(LimitBytes& limits) noexcept override { ring_.limits = limits_in<Limits>(limits); }

 private:
  Pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring, std::optional<ProfileSums> summed,
       const Setup& setup, const Device& device, const ByBin& table)
      : prepared_(prepared),
        ring_(ring),
        format_(setup.in),
        group_(device.group()),
        team_(prepared->errors() == Errors::azimuthal || table.pixels.size() < kFewShares * prepared->bins() ? 1
                                                                                                             : group_),
        program_(program_of(device)),
        sum_(program_, "sum_bins"),
        firsts_(device.memory_of(table.firsts, "bins of azimuthal")),
        pixels_(device.memory_of(table.pixels, "pixels by bin")),
        shares_(device.memory_of(table.shares, "shares of pixels")),
        norm_(device.memory_with(prepared->norm(), prepared->pixels() * sizeof(float), "norms of pixels")),
        found_(device, setup.benches, setup.stack * prepared->bins() * sizeof(Found), "sums of bins"),
        sums_(*prepared, setup.in),
        profiles_(setup.places * kArrays * prepared->bins()),
        summed_(std::move(summed)) {
    std::vector<float> dark;
    for (std::size_t pixel = 0; prepared->has_dark() && pixel < prepared->pixels(); ++pixel) {
      dark.push_back(prepared->dark(pixel));
    }
    dark_ = device.memory_of(dark, "darks of pixels");
  }
  [[nodiscard]] memory::opencl::Program program_of(const Device& device) const {
    const bool real = format_.type == PixelType::f32;
    std::string macros = real ? "" : kernel::opencl::photon_macros(format_, photon_range(format_));
    macros +=
        fmt::format(" -D REAL={:d} -D REAL_SUMS={:d} -D SPLIT={:d} -D POISSON={:d} -D SPREAD={:d} -D DARK={:d}", real,
                    real_sums(*prepared_, format_), prepared_->split(), prepared_->errors() == Errors::poisson,
                    prepared_->errors() == Errors::azimuthal, prepared_->has_dark());
    macros += fmt::format(" -D TEAM={}", team_);
    std::vector<std::string_view> source{azimuthal_cl};
    if (!real) source.insert(source.begin(), kernel::opencl::photon_source());
    return kernel::opencl::build(device, "azimuthal", source, macros);
  }
  void take(const Found& found, std::size_t bin) noexcept {
    if (!sums_.real.empty()) {
      sums_.real[bin] = {std::bit_cast<double>(found.signal), std::bit_cast<double>(found.variance)};
    } else {
      sums_.signal[bin] = std::bit_cast<std::int64_t>(found.signal);
      if (!sums_.variance.empty()) sums_.variance[bin] = std::bit_cast<std::int64_t>(found.variance);
    }
    if (!sums_.spread.empty()) sums_.spread[bin] = found.spread;
    if (found.masked == 0) return;
    sums_.any_masked = true;
    sums_.masked[bin] = {found.masked_norm, found.masked_dark, found.masked_variance, found.masked};
  }
  [[nodiscard]] double* profile_at(std::uint32_t place) noexcept {
    return profiles_.data() + place * kArrays * prepared_->bins();
  }

  std::shared_ptr<const Prepared> prepared_;
  Ring ring_;
  PixelFormat format_;
  std::uint32_t group_;
  std::uint32_t team_;
  memory::opencl::Program program_;
  memory::opencl::Kernel sum_;
  memory::opencl::Memory firsts_, pixels_, shares_, norm_, dark_;
  kernel::opencl::Fetched found_;  // [image][bin]
  Sums sums_;
  std::vector<double> profiles_;  // [place][array][bin]
  std::optional<ProfileSums> summed_;
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                      std::optional<ProfileSums> summed, const Setup& setup,
                                                      const Device& device) {
  kernel::opencl::need_doubles(device, "azimuthal");
  return std::make_unique<Pass>(prepared, ring, std::move(summed), setup, device);
}

}  // namespace rashpa::kernel::azimuthal::opencl
