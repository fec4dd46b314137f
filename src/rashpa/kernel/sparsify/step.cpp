// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/kernel/rings/counted_rings.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/sigma_clip/device_method.hpp"
#include "rashpa/kernel/sigma_clip/geometry_kernel.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"
#include "rashpa/memory/buffer.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/sparsify/sparsify_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/rings/rings_opencl.hpp"
#endif

namespace rashpa::kernel::sparsify {

namespace {

constexpr const char* kOwner = "kernel sparsify";
constexpr std::size_t kColumns = 3;  // of the table

const Parameters<Config>& parameters() {
  static const auto declared = sigma_clip::with_parameters(Parameters<Config>(kOwner))
                                   .add({.name = "capacity",
                                         .doc = "room for listed pixels, as a part of all",
                                         .least = 0,
                                         .above = true,
                                         .most = 1},
                                        &Config::capacity);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "sparsify",
      .purpose = "lists the pixels above a sigma-clipped radial background, and that background",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
      .makes =
          {{.kind = Port::Kind::list, .capacity = "capacity"},
           {.kind = Port::Kind::scalars,
            .columns = {{.name = "listed_pixels", .unit = "pixels", .doc = "Pixels above the background"}}},
           {.kind = Port::Kind::table,
            .capacity = "bins",
            .columns = {{.name = "radius", .type = Column::Type::f64, .unit = "pixels", .doc = "Middle of the bin"},
                        {.name = "background", .type = Column::Type::f64, .doc = "Mean of the bin"},
                        {.name = "deviation", .type = Column::Type::f64, .doc = "Of a pixel of the bin"}}}},
      .inputs = {radius_input()},
      .units = {"cpu", "opencl", "cuda"},
      .scratch_bytes = 11,
      .device = {
          {.bytes = 6},
          {.bytes = 4, .unit = "cuda"},
          {.bytes = 0.125, .of = DeviceCost::Of::image},
          {.bytes = sizeof(RingLimit) + sizeof(float), .of = DeviceCost::Of::image, .each = "bins"},
          {.bytes = kCountedRingBytes, .of = DeviceCost::Of::image, .each = "bins", .counted = true, .unit = "cuda"}}};
  return declaration;
}

/// Lists and rows of all images, at their places.
class Store {
 public:
  Store(const Config& config, const Setup& setup, const sigma_clip::Radii& radii)
      : radii_(&radii),
        format_(setup.in),
        capacity_(capacity_of(config, setup.shape.pixels())),
        bins_(config.bins),
        stride_((capacity_ * (sizeof(std::uint32_t) + pixel_bytes(format_.type)) + 63) / 64 * 64),
        lists_(setup.places * stride_, memory::MemoryKind::huge),
        rows_(std::size_t{setup.places} * bins_ * kColumns * sizeof(Scalar), memory::MemoryKind::huge) {}
  struct Found {
    std::size_t pixels = 0;
    SparseView list{};
    TableView table{};
  };
  /// Returns where the indices of an image go.
  [[nodiscard]] std::span<std::uint32_t> index(std::uint32_t place) noexcept {
    return {reinterpret_cast<std::uint32_t*>(lists_.data() + place * stride_), capacity_};
  }
  /// `count` have been found, of which the first ones are there.
  Found keep(std::uint32_t place, const std::byte* image, std::size_t count,
             std::span<const sigma_clip::Bin> bins) noexcept {
    std::uint32_t* const list = index(place).data();
    std::byte* const values = lists_.data() + place * stride_ + capacity_ * sizeof(std::uint32_t);
    const std::size_t kept = std::min(count, capacity_);
    const std::size_t bytes = pixel_bytes(format_.type);
    for (std::size_t at = 0; at < kept; ++at) std::memcpy(values + at * bytes, image + list[at] * bytes, bytes);
    auto* row = reinterpret_cast<Scalar*>(rows_.data()) + std::size_t{place} * bins_ * kColumns;
    const Found found{count, {list, values, static_cast<std::uint32_t>(kept)}, {row, bins_}};
    for (std::uint32_t bin = 0; bin < bins_; ++bin) {
      *row++ = Scalar::of_real(radii_->middle(bin));
      *row++ = Scalar::of_real(bins[bin].mean);
      *row++ = Scalar::of_real(bins[bin].deviation);
    }
    return found;
  }
  void finish(const Found& found, Finding& finding) noexcept {
    finding.scalars[0] = Scalar::of_count(found.pixels);
    finding.failed = found.pixels > capacity_;
    if (finding.failed) {
      std::size_t none = 0;
      too_many_.compare_exchange_strong(none, found.pixels, std::memory_order_relaxed);
      return;
    }
    finding.list = found.list;
    finding.table = found.table;
  }
  [[nodiscard]] std::string failure() const {
    const std::size_t found = too_many_.load(std::memory_order_relaxed);
    if (found == 0) return {};
    return fmt::format(
        "{}: {} pixels of an image are above the background, and its list holds {}; set a larger "
        "capacity",
        kOwner, found, capacity_);
  }

 private:
  const sigma_clip::Radii* radii_;
  PixelFormat format_;
  std::size_t capacity_;
  std::uint32_t bins_;
  std::size_t stride_;
  memory::Buffer lists_;                  // [place]: indices, then values
  memory::Buffer rows_;                   // Scalar [place][bin][column]
  std::atomic<std::size_t> too_many_{0};  // relaxed: threads of a unit write, the step reads after they have met
};

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, const Setup& setup)
      : radii_(config, setup.shape, kOwner), format_(setup.in), store_(config, setup, radii_), found_(setup.stack) {
    for (unsigned worker = 0; worker < setup.workers; ++worker) workers_.emplace_back(config, radii_);
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned worker, const Items& items, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      const std::size_t count = workers_[worker].sparsify(items.in[i], format_, store_.index(items.place[i]));
      found_[items.first + i] = store_.keep(items.place[i], items.in[i], count, workers_[worker].bins());
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override { store_.finish(found_[item], finding); }
  [[nodiscard]] std::string failure() const override { return store_.failure(); }

 private:
  sigma_clip::Radii radii_;
  PixelFormat format_;
  Store store_;
  std::vector<Sparsifier> workers_;
  std::vector<Store::Found> found_;  // by item
};

#ifdef RASHPA_HAVE_OPENCL
/// The background and the candidates are the device's, the list is the host's.
class DevicePass final : public opencl::MarkedRings {
 public:
  DevicePass(const Config& config, const Setup& setup, const memory::opencl::Device& device)
      : DevicePass(config, sigma_clip::Radii(config, setup.shape, kOwner), setup, device) {}
  DevicePass(const DevicePass&) = delete;
  DevicePass& operator=(const DevicePass&) = delete;

  void settle(const opencl::HostItem& item, Finding& finding) noexcept override {
    const Seen looked = seen(item);
    const auto bins = sigma_clip::bins_of(looked.limits);
    const std::size_t count =
        sparsify_marked(config_, radii_, looked.image, format_, bins, looked.marks, store_.index(item.place));
    store_.finish(store_.keep(item.place, looked.image, count, bins), finding);
  }
  [[nodiscard]] std::string failure() const override { return store_.failure(); }

 private:
  DevicePass(const Config& config, sigma_clip::Radii radii, const Setup& setup, const memory::opencl::Device& device)
      : MarkedRings("sparsify", radii.rings(), sigma_clip::device_method(config, radii), setup, device),
        config_(config),
        radii_(std::move(radii)),
        format_(setup.in),
        store_(config, setup, radii_) {}

  Config config_;
  sigma_clip::Radii radii_;
  PixelFormat format_;
  Store store_;
};
#endif

class Sparsify final : public Step, public Listing, public Tabling {
 public:
  explicit Sparsify(const Config& config) : config_(config) { sigma_clip::check(config, kOwner); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    static_cast<void>(sigma_clip::Radii(config_, shape, kOwner));
    return in;
  }
  [[nodiscard]] std::size_t list_capacity(const Shape& shape) const override {
    return capacity_of(config_, shape.pixels());
  }
  [[nodiscard]] std::uint32_t table_capacity() const override { return config_.bins; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                              const memory::opencl::Device& device) const override {
    return std::make_unique<DevicePass>(config_, setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, sigma_clip::Radii(config_, setup.shape, kOwner), setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Sparsify>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const sigma_clip::GeometryKernel kernel(declared(), parameters(), kOwner);
  return kernel;
}

}  // namespace rashpa::kernel::sparsify
