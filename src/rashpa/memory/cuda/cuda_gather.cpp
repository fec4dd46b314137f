// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/cuda_gather.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <optional>

#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/cuda/gather_kernel.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::memory::cuda {

namespace {

constexpr std::int64_t kAskNs =
    10'000'000;  // a list under way for so long: the driver is asked whether the device lives

class CudaGather final : public GatherEngine {
 public:
  CudaGather(int device, std::byte* images, const GatherRoom& room)
      : device_(device),
        scope_(device),
        images_(images),
        room_(room),
        pool_(room.pool_bytes),
        runs_(std::size_t{room.lists} * room.runs * sizeof(GatherRun)),
        ended_(sizeof(std::uint64_t)),
        blocks_(sizeof(std::uint32_t)) {
    check(cudaStreamSynchronize(nullptr), "clear the words of a gather");
    scope_.reset();
  }
  ~CudaGather() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_.get());
  }
  CudaGather(const CudaGather&) = delete;
  CudaGather& operator=(const CudaGather&) = delete;

  [[nodiscard]] std::span<std::byte> pool() noexcept override { return {pool_.as<std::byte>(), room_.pool_bytes}; }
  [[nodiscard]] std::span<GatherRun> list(std::uint32_t number) noexcept override {
    return {runs_.as<GatherRun>() + std::size_t{number} * room_.runs, room_.runs};
  }
  void start(std::uint32_t number, std::uint32_t runs) noexcept override {
    if (begun_ == seen_) changed_ns_ = now_ns();
    ++begun_;
    failed_ = failed_ || cudaSetDevice(device_) != cudaSuccess ||
              gather({.runs = list(number).data(),
                      .count = runs,
                      .images = images_,
                      .blocks = blocks_.as<std::uint32_t>(),
                      .ended = ended_.as<std::uint64_t>(),
                      .number = begun_},
                     stream_.get()) != cudaSuccess;
  }
  [[nodiscard]] std::uint64_t ended() noexcept override {
    // Acquire: the link uses the list's buffers again, and gives its images to the unit.
    const std::uint64_t ended = std::atomic_ref(*ended_.as<std::uint64_t>()).load(std::memory_order_acquire);
    if (ended != seen_) {
      seen_ = ended;
      changed_ns_ = now_ns();
    } else if (seen_ != begun_ && now_ns() - changed_ns_ > kAskNs) {
      changed_ns_ = now_ns();
      const cudaError_t state =
          cudaSetDevice(device_) == cudaSuccess ? cudaStreamQuery(stream_.get()) : cudaErrorUnknown;
      failed_ = failed_ || (state != cudaSuccess && state != cudaErrorNotReady);
    }
    return seen_;
  }
  [[nodiscard]] bool failed() const noexcept override { return failed_; }

 private:
  int device_;
  std::optional<DeviceScope> scope_;  // while the members are made
  std::byte* images_;
  GatherRoom room_;
  PinnedMemory pool_;
  PinnedMemory runs_;
  PinnedMemory ended_;
  DeviceMemory blocks_;
  Stream stream_;
  std::uint64_t begun_ = 0;
  std::uint64_t seen_ = 0;       // of ended_
  std::int64_t changed_ns_ = 0;  // when seen_ or the driver's answer was new
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<GatherEngine> make_cuda_gather(int device, std::byte* images, const GatherRoom& room) {
  return std::make_unique<CudaGather>(device, images, room);
}

}  // namespace rashpa::memory::cuda
