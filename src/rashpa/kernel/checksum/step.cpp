// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <vector>

#include "rashpa/kernel/checksum/checksum.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/checksum/checksum_cuda.hpp"
#endif
#include "rashpa/kernel/contract/plain_kernel.hpp"
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/checksum/checksum_opencl.hpp"
#endif

namespace rashpa::kernel::checksum {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared = Parameters<Config>("kernel checksum")
                                   .add({.name = "on_mismatch",
                                         .doc = "the treatment of an image that differs from its source's",
                                         .choices = {"error", "veto"}},
                                        &Config::on_mismatch);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "checksum",
      .purpose = "CRC32C of each image, its parts verified against their frame records",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels,
                .pixels = {PixelType::u8, PixelType::u16, PixelType::u32, PixelType::i16, PixelType::i32,
                           PixelType::f32}},
      .makes = {{.kind = Port::Kind::scalars,
                 .columns = {{.name = "crc32c", .doc = "CRC32C of the image as delivered, row by row"},
                             {.name = "checksums_verified",
                              .doc = "Parts of the image (DTPs) that are what their sources have sent"}}},
                {.kind = Port::Kind::verdict, .reasons = {"wrong_checksum"}}},
      .delivered = true,
      .units = {"cpu", "cuda", "opencl"}};
  return declaration;
}

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, const Setup& setup)
      : config_(config), bytes_(setup.shape.pixels() * pixel_bytes(setup.in.type)), results_(setup.stack) {}

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const Items& items, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      const std::span<const PayloadSum> sums = items.sums == nullptr ? std::span<const PayloadSum>() : items.sums[i];
      results_[items.first + i] = verify({items.in[i], bytes_}, sums);
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    settle(config_, results_[item], first_wrong_, finding);
  }
  [[nodiscard]] std::string failure() const override { return failure_of(first_wrong_); }

 private:
  Config config_;
  std::size_t bytes_;
  std::vector<Result> results_;
  std::atomic<std::uint32_t> first_wrong_{kNoneWrong};
};

class Checksum final : public Step {
 public:
  explicit Checksum(const Config& config) : config_(config) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
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

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Checksum>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::checksum
