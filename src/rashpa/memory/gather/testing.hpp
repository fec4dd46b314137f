// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processor in place of a device: a gather by memcpy, as late as a device may be, for tests without a GPU.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "rashpa/memory/address_translation.hpp"
#include "rashpa/memory/gather/gather_engine.hpp"

namespace rashpa::memory::testing {

/// Moves the bytes of a run, as a device does.
inline void carry_out(const GatherRun& run, std::byte* images) noexcept {
  std::byte* to = images + run.destination;
  if (run.decode == Decode::copy) {
    std::memcpy(to, run.source, run.bytes);
    return;
  }
  for (std::uint32_t i = 0; i < run.bytes; ++i) {
    const std::byte low = run.source[i] & std::byte{0xF};
    const std::byte high = run.source[i] >> 4;
    to[2 * i] = run.decode == Decode::low_nibble_first ? low : high;
    to[2 * i + 1] = run.decode == Decode::low_nibble_first ? high : low;
  }
}

/// Memory of images that the processor cannot touch at the address that links get, and the gathers into it.
class FarImages final : public Gathering {
 public:
  /// `bytes`: where the images are in truth; outlives this object. Each list is carried out when it has been asked for
  /// `late` times.
  explicit FarImages(std::span<std::byte> bytes, int late = 3)
      : bytes_(bytes),
        late_(late),
        address_(mmap(nullptr, bytes.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (address_ == MAP_FAILED) throw std::runtime_error("mmap");
    block_ = {.data = static_cast<std::byte*>(address_), .bytes = bytes.size(), .accelerator = true};
  }
  ~FarImages() override { munmap(address_, bytes_.size()); }
  FarImages(const FarImages&) = delete;
  FarImages& operator=(const FarImages&) = delete;

  [[nodiscard]] std::unique_ptr<GatherEngine> make_gather(const GatherRoom& room) override {
    return std::make_unique<Engine>(*this, room);
  }
  [[nodiscard]] std::shared_ptr<void> open(std::span<std::byte> buffers) override {
    return std::make_shared<std::span<std::byte>>(buffers);
  }
  [[nodiscard]] const DmaBlock& block() const noexcept { return block_; }
  [[nodiscard]] std::byte* data() noexcept { return bytes_.data(); }

  std::atomic<bool> stuck{false};  ///< no list ends; a test sets it while the link runs
  bool failed = false;             ///< the device has failed; set before links run

 private:
  class Engine final : public GatherEngine {
   public:
    Engine(FarImages& images, const GatherRoom& room)
        : images_(&images), pool_(room.pool_bytes), lists_(room.lists, std::vector<GatherRun>(room.runs)) {}
    [[nodiscard]] std::span<std::byte> pool() noexcept override { return pool_; }
    [[nodiscard]] std::span<GatherRun> list(std::uint32_t number) noexcept override { return lists_[number]; }
    void start(std::uint32_t number, std::uint32_t runs) noexcept override { begun_.push_back({number, runs}); }
    [[nodiscard]] std::uint64_t ended() noexcept override {
      if (ended_ == begun_.size() || images_->stuck || images_->failed || ++asked_ < images_->late_) return ended_;
      asked_ = 0;
      const Begun& next = begun_[ended_++];
      for (std::uint32_t i = 0; i < next.runs; ++i) carry_out(lists_[next.list][i], images_->data());
      return ended_;
    }
    [[nodiscard]] bool failed() const noexcept override { return images_->failed; }

   private:
    struct Begun {
      std::uint32_t list;
      std::uint32_t runs;
    };
    FarImages* images_;
    std::vector<std::byte> pool_;
    std::vector<std::vector<GatherRun>> lists_;
    std::vector<Begun> begun_;
    std::uint64_t ended_ = 0;
    int asked_ = 0;
  };

  std::span<std::byte> bytes_;
  int late_;
  void* address_;
  DmaBlock block_;
};

}  // namespace rashpa::memory::testing
