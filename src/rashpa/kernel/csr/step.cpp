// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/memory/buffer.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/csr/csr_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/csr/csr_opencl.hpp"
#endif

namespace rashpa::kernel::csr {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel csr")
          .add({.name = "threshold", .doc = "photons", .least = 1, .most = 2147483647, .pixel_value = true},
               &Config::threshold)
          .add({.name = "capacity",
                .doc = "fraction of the pixels there is room for",
                .least = 0,
                .above = true,
                .most = 1},
               &Config::capacity);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{.name = "csr",
                                       .purpose = "pixels at or above the threshold as index and value",
                                       .parameters = parameters().declared(),
                                       .takes = {.kind = Port::Kind::pixels, .pixels = photon_types()},
                                       .makes = {{.kind = Port::Kind::list, .capacity = "capacity"}},
                                       .strips = true,
                                       .units = {"cpu", "cuda", "opencl", "fpga"},
                                       .rides = {Tap::mark},
                                       .device = {{.bytes = 0.125, .of = DeviceCost::Of::image, .unit = "opencl"}}};
  return declaration;
}

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, const Setup& setup)
      : threshold_(config.threshold),
        format_(setup.in),
        marked_(setup.marked),
        capacity_(capacity_of(config, setup.shape.pixels())),
        entries_(setup.stack) {
    const std::size_t entry = sizeof(std::uint32_t) + pixel_bytes(format_.type);
    stride_ = ((capacity_ + kSlack) * entry + 63) / 64 * 64;
    lists_ = memory::Buffer(setup.places * stride_, memory::MemoryKind::huge);
  }

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const Items& items, std::size_t /*first*/, std::size_t last) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      std::byte* list = lists_.data() + items.place[i] * stride_;
      const Entries out{reinterpret_cast<std::uint32_t*>(list), list + (capacity_ + kSlack) * sizeof(std::uint32_t),
                        capacity_};
      const std::size_t count = marked_ ? compact_marked(items.in[i], format_, items.marks[i], last, out)
                                        : compact(items.in[i], format_, last, threshold_, out);
      Found& found = entries_[items.first + i];
      found.overflow = count == kOverflow;
      found.list = {out.index, out.value, found.overflow ? 0 : static_cast<std::uint32_t>(count)};
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    finding.failed = entries_[item].overflow;
    if (!finding.failed) finding.list = entries_[item].list;
  }

 private:
  struct Found {
    bool overflow = false;
    SparseView list{};
  };
  std::int32_t threshold_;
  PixelFormat format_;
  bool marked_;
  std::size_t capacity_;
  std::size_t stride_ = 0;
  memory::Buffer lists_;
  std::vector<Found> entries_;  // by item
};

class Csr final : public Step, public Marking, public Listing, public Splitting {
 public:
  explicit Csr(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override {
    check_threshold("csr", in, config_.threshold);
    return in;
  }
  [[nodiscard]] std::optional<std::int32_t> mark_tap() const override { return config_.threshold; }
  [[nodiscard]] std::size_t list_capacity(const Shape& shape) const override {
    return capacity_of(config_, shape.pixels());
  }
  /// Any strip may have the entries of all.
  [[nodiscard]] std::optional<Strip> strip(const Shape& whole, const Rows& rows) const override {
    const auto room = static_cast<double>(capacity_of(config_, whole.pixels()));
    const auto pixels = static_cast<double>(std::size_t{whole.width} * rows.count);
    return Strip{step_of(Config{config_.threshold, std::min(1.0, room / pixels)})};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(config_, setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Csr>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::csr
