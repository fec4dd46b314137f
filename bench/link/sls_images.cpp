// SPDX-License-Identifier: Apache-2.0
#include "sls_images.hpp"

#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::sls {

namespace {

class HostImages final : public Images {
 public:
  explicit HostImages(std::uint64_t bytes) : region_(bytes, memory::MemoryKind::huge) {}
  [[nodiscard]] ReceiverMemory memory() override { return region_.bytes(); }
  void take(std::uint32_t dtp, std::uint64_t index, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) override {
    taken_.emplace_back(dtp, index);
  }
  bool release(const Release& release) override {
    for (const auto& [dtp, index] : taken_) release(dtp, index + 1);
    taken_.clear();
    return false;
  }

 private:
  memory::Buffer region_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> taken_;
};

}  // namespace

std::unique_ptr<Images> make_images(const std::string& name, std::uint64_t bytes) {
  if (name == "host") return std::make_unique<HostImages>(bytes);
  if (name == "copied") return make_gpu_images(false, bytes);
  if (name == "gathered") return make_gpu_images(true, bytes);
  throw ConfigError("images: " + name + ": unknown; choose host, copied or gathered");
}

#ifndef RASHPA_HAVE_CUDA
std::unique_ptr<Images> make_gpu_images(bool /*gathered*/, std::uint64_t /*bytes*/) {
  throw ConfigError("images: this program was built without CUDA; use host");
}
#endif

}  // namespace rashpa::link::sls
