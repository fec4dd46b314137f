// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <atomic>
#include <string>
#include <vector>

#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/plain_kernel.hpp"

namespace rashpa::kernel::checksum {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared = Parameters<Config>("kernel checksum")
                                   .add({.name = "on_mismatch",
                                         .doc = "what becomes of an image that is not what its source has sent",
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
      .delivered = true};
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
    const Result& result = results_[item];
    finding.scalars[0] = Scalar::of_count(result.crc32c);
    finding.scalars[1] = Scalar::of_count(result.verified);
    if (result.wrong == 0) return;
    if (config_.on_mismatch == OnMismatch::veto) {
      finding.verdict = 1;
      return;
    }
    finding.failed = true;
    std::uint32_t none = kNone;
    first_wrong_.compare_exchange_strong(none, result.first, std::memory_order_relaxed);
  }
  [[nodiscard]] std::string failure() const override {
    const std::uint32_t part = first_wrong_.load(std::memory_order_relaxed);
    if (part == kNone) return {};
    return fmt::format(
        "its pixels are not what the source has sent: the CRC32C of DTP {} of the buffer (counted from 0) "
        "is not the one of its frame record",
        part);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  Config config_;
  std::size_t bytes_;
  std::vector<Result> results_;
  std::atomic<std::uint32_t> first_wrong_{kNone};
};

class Checksum final : public Step {
 public:
  explicit Checksum(const Config& config) : config_(config) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
  }

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
