// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/kernel/azimuthal/device/by_bin.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::azimuthal::cuda {

namespace {

using memory::cuda::DeviceMemory;
using memory::cuda::PinnedMemory;

constexpr std::size_t kFewShares = 64;  // of a bin, on average: one thread does them

/// Arrays that stay on the device.
class Arrays {
 public:
  template <typename T>
  const T* keep(std::span<const T> values) {
    if (values.empty()) return nullptr;
    const DeviceMemory& memory = kept_.emplace_back(values.size_bytes());
    memory::cuda::check(cudaMemcpy(memory.as<void>(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
                        "tables of azimuthal");
    return memory.as<T>();
  }

 private:
  std::vector<DeviceMemory> kept_;
};

class Pass final : public kernel::cuda::DevicePass, public kernel::cuda::HostAdding {
 public:
  Pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring, std::optional<ProfileSums> summed,
       const Setup& setup)
      : ring_(ring),
        format_(setup.in),
        bins_(prepared->bins()),
        profiles_(setup.places * kArrays * bins_ * sizeof(double)),
        summed_(std::move(summed)) {
    tables_.bins = static_cast<std::uint32_t>(bins_);
    tables_.pixels = static_cast<std::uint32_t>(prepared->pixels());
    tables_.errors = prepared->errors();
    tables_.real = real_sums(*prepared, setup.in);
    tables_.all = arrays_.keep(std::span(prepared->all()));
    tables_.norm = arrays_.keep(std::span(prepared->norm(), prepared->pixels()));
    keep_dark(*prepared);
    if (!tables_.real && prepared->errors() != Errors::azimuthal && prepared->narrow() != nullptr) {
      keep_bins(*prepared, setup);
    }
    if (scatter_.together == 0) keep_table(*prepared);
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) benches_.emplace_back(setup.stack, bins_);
  }

  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    const Found& found = benches_[bench].found;
    const int code = scatter_.together != 0 ? cuda::scatter(scatter_, tables_, format_, stack, found, stream)
                                            : cuda::gather(tables_, format_, stack, found, stream);
    return code != cudaSuccess ? code
                               : cuda::settle(scatter_, tables_, ring_, stack, found, profile_at(stack.place), stream);
  }
  [[nodiscard]] ProfileView profile(std::uint32_t place) const noexcept override { return {profile_at(place)}; }
  void add(std::uint32_t place) noexcept override {
    if (summed_) summed_->add(profile_at(place));
  }
  void write(const AccumulatedArrays& to) noexcept override {
    if (summed_) summed_->conclude(to, 0, bins_);
  }

 private:
  struct Bench {
    Bench(std::size_t stack, std::size_t bins)
        : signal(stack * bins * sizeof(std::int64_t)),
          variance(stack * bins * sizeof(std::int64_t)),
          masked(stack * bins * sizeof(MaskedSum)),
          any_masked(stack * sizeof(std::uint32_t)),
          pixels_done(stack * sizeof(std::uint32_t)),
          found{signal.as<std::int64_t>(), variance.as<std::int64_t>(), masked.as<MaskedSum>(),
                any_masked.as<std::uint32_t>(), pixels_done.as<std::uint32_t>()} {}
    DeviceMemory signal, variance, masked, any_masked, pixels_done;
    Found found;
  };
  void keep_dark(const Prepared& prepared) {
    std::vector<float> dark;
    for (std::size_t pixel = 0; prepared.has_dark() && pixel < prepared.pixels(); ++pixel) {
      dark.push_back(prepared.dark(pixel));
    }
    tables_.dark = arrays_.keep(std::span<const float>(dark));
  }
  void keep_bins(const Prepared& prepared, const Setup& setup) {
    std::vector<std::uint16_t> bin_of(prepared.narrow(), prepared.narrow() + prepared.pixels());
    bin_of.resize((bin_of.size() + 7) / 8 * 8, static_cast<std::uint16_t>(bins_));
    scatter_ = scatter_for(setup.in, bin_of, tables_.bins, setup.stack);
    if (scatter_.together != 0) tables_.bin_of = arrays_.keep(std::span<const std::uint16_t>(bin_of));
  }
  void keep_table(const Prepared& prepared) {
    const ByBin table = azimuthal::by_bin(prepared);
    tables_.firsts = arrays_.keep(std::span(table.firsts));
    tables_.by_bin = arrays_.keep(std::span(table.pixels));
    tables_.shares = arrays_.keep(std::span(table.shares));
    // The errors of a bin follow from its pixels one after the other.
    const bool few = table.pixels.size() < kFewShares * bins_;
    tables_.team = few || prepared.errors() == Errors::azimuthal ? 1 : 32;
  }
  [[nodiscard]] double* profile_at(std::size_t place) const noexcept {
    return profiles_.as<double>() + place * kArrays * bins_;
  }

  Ring ring_;
  PixelFormat format_;
  std::size_t bins_;
  Arrays arrays_;
  Tables tables_;
  Scatter scatter_;
  std::vector<Bench> benches_;
  PinnedMemory profiles_;  // [place][array][bin]
  std::optional<ProfileSums> summed_;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                    std::optional<ProfileSums> summed, const Setup& setup) {
  return std::make_unique<Pass>(prepared, ring, std::move(summed), setup);
}

}  // namespace rashpa::kernel::azimuthal::cuda
