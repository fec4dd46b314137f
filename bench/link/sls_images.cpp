// SPDX-License-Identifier: Apache-2.0
#include "sls_images.hpp"

#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/gather/gather_engine.hpp"

namespace rashpa::link::sls {

namespace {

/// Ends lists at once and does nothing with them.
class NoEngine final : public memory::GatherEngine {
 public:
  explicit NoEngine(const memory::GatherRoom& room)
      : room_(room), pool_(room.pool_bytes, memory::MemoryKind::pageable), runs_(std::size_t{room.lists} * room.runs) {}
  [[nodiscard]] std::span<std::byte> pool() noexcept override { return pool_.bytes(); }
  [[nodiscard]] std::span<memory::GatherRun> list(std::uint32_t number) noexcept override {
    return std::span(runs_).subspan(std::size_t{number} * room_.runs, room_.runs);
  }
  void start(std::uint32_t /*number*/, std::uint32_t /*runs*/) noexcept override { ++begun_; }
  [[nodiscard]] std::uint64_t ended() noexcept override { return begun_; }
  [[nodiscard]] bool failed() const noexcept override { return false; }

 private:
  memory::GatherRoom room_;
  memory::Buffer pool_;
  std::vector<memory::GatherRun> runs_;
  std::uint64_t begun_ = 0;
};

class HostImages final : public PlacedImages, public memory::Gathering {
 public:
  HostImages(bool listed, std::uint64_t bytes) : listed_(listed), region_(bytes, memory::MemoryKind::huge) {}
  [[nodiscard]] ReceiverMemory memory() override {
    if (!listed_) return region_.bytes();
    return {{.data = region_.data(), .bytes = region_.bytes().size(), .accelerator = true}, region_.bytes(), this};
  }
  [[nodiscard]] std::unique_ptr<memory::GatherEngine> make_gather(const memory::GatherRoom& room) override {
    return std::make_unique<NoEngine>(room);
  }
  [[nodiscard]] std::shared_ptr<void> open(std::span<std::byte> /*buffers*/) override { return nullptr; }

 private:
  bool listed_;
  memory::Buffer region_;
};

}  // namespace

std::unique_ptr<Images> make_images(const std::string& name, std::uint64_t bytes) {
  if (name == "host") return std::make_unique<HostImages>(false, bytes);
  if (name == "listed") return std::make_unique<HostImages>(true, bytes);
  if (name == "copied") return make_gpu_images(false, bytes);
  if (name == "gathered") return make_gpu_images(true, bytes);
  throw ConfigError("images: " + name + ": unknown; choose host, copied, gathered or listed");
}

#ifndef RASHPA_HAVE_CUDA
std::unique_ptr<Images> make_gpu_images(bool /*gathered*/, std::uint64_t /*bytes*/) {
  throw ConfigError("images: this program was built without CUDA; use host");
}
#endif

}  // namespace rashpa::link::sls
