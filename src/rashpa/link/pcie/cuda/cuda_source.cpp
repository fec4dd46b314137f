// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/cuda_source.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/link/pcie/cuda/copy_streams.hpp"
#include "rashpa/link/pcie/cuda/end_of_image.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"
#include "rashpa/link/pcie/cuda/remote_lines_mapping.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

namespace {

namespace device = memory::cuda;

constexpr std::size_t kLeftFree = std::size_t{512} << 20U;  // of a device's memory, for all else
// Lines that long and longer are quicker by the copy engine, which leaves the device's processors alone.
constexpr std::uint32_t kByCopyEngine = 4U << 10;

std::size_t all_bytes(std::span<const std::span<const std::byte>> blocks) noexcept {
  std::size_t bytes = 0;
  for (const std::span<const std::byte> block : blocks) bytes += block.size();
  return bytes;
}

/// One block of frames, and where the device reads it.
struct Block {
  std::span<const std::byte> host;
  const std::byte* there = nullptr;
};

}  // namespace

struct CudaSource::Impl {
  int number = 0;
  std::vector<device::DeviceMemory> copies;
  std::vector<Block> blocks;
  std::vector<std::unique_ptr<device::Pinning>> pinned;
  std::string how;

  /// Where the device has what lies at `data`; null: it has no copy.
  [[nodiscard]] const std::byte* find(const std::byte* data) const noexcept {
    for (const Block& block : blocks) {
      if (data >= block.host.data() && data < block.host.data() + block.host.size()) {
        return block.there + (data - block.host.data());
      }
    }
    return nullptr;
  }
};

namespace {

class Copies final : public CopyDevice {
 public:
  /// `find`: where the device has frames.
  template <typename Source>
  Copies(std::shared_ptr<Source> source, std::shared_ptr<const RemoteMemory> memory)
      : keep_(source),
        find_(
            [](const void* of, const std::byte* data) noexcept { return static_cast<const Source*>(of)->find(data); }),
        device_(source->number),
        scope_(std::in_place, device_),
        memory_(std::move(memory)),
        region_(memory_->region().data(), memory_->region().size()),
        control_(memory_->control().data(), memory_->control().size()),
        control_there_(address_of(memory_->control().data())),
        records_there_(address_of(memory_->region().data())),
        streams_(memory_->lines() ? Side::side_by_side : Side::one_by_one),
        bounce_{device::DeviceMemory(CopyEngine::kLargestCopy),
                device::DeviceMemory(memory_->lines() ? CopyEngine::kLargestCopy : 0)},
        word_(sizeof(std::uint64_t)) {
    if (memory_->lines()) there_.emplace(*memory_->lines());
    lines_ = there_ ? there_->data() : memory_->region().data();
    // The first launches load the kernels, which may wait for the device.
    if (there_) {
      const CopiedLines two{.to = bounce_[0].as<std::byte>(),
                            .to_pitch = 32,
                            .from = bounce_[1].as<std::byte>(),
                            .from_pitch = 32,
                            .width = 16,
                            .rows = 2};
      device::check(copy_lines(two, streams_.ends()), "copy lines");
    }
    device::check(enqueue({.reached = word_.as<std::uint64_t>()}, streams_.ends()), "write behind an image");
    device::check(cudaStreamSynchronize(streams_.ends()), "write behind an image");
    scope_.reset();
  }
  ~Copies() override {
    cudaSetDevice(device_);
    streams_.wait();
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  bool copy(const Rectangle& rectangle) noexcept override {
    if (!begin()) return false;
    if (const std::byte* there = find_(keep_.get(), rectangle.source)) {
      return well(put(rectangle, there, rectangle.source_stride));
    }
    return well(bounce(rectangle));
  }

  bool mark(std::uint64_t number, const Event* event, std::atomic<std::uint32_t>* lock) noexcept override {
    if (!begin()) return false;
    EndOfImage end{.reached = word_.as<std::uint64_t>(), .number = number};
    if (event != nullptr) {
      std::memcpy(end.bytes.data(), event->record, end.bytes.size());
      end.record = reinterpret_cast<unsigned char*>(records_there_ + event->destination);
      const auto offset = reinterpret_cast<std::byte*>(lock) - memory_->control().data();
      end.lock = reinterpret_cast<std::uint32_t*>(control_there_ + offset);
      end.immediate = event->immediate;
    }
    cudaError_t code = streams_.begin_end();
    if (code == cudaSuccess) code = enqueue(end, streams_.ends());
    if (code == cudaSuccess && event != nullptr) code = streams_.image_ended();
    return well(code);
  }

  [[nodiscard]] std::uint64_t reached() const noexcept override {
    return std::atomic_ref<std::uint64_t>(*word_.as<std::uint64_t>()).load(std::memory_order_acquire);
  }

  bool sound() noexcept override {
    if (!begin()) return false;
    const cudaError_t code = streams_.query();
    return well(code == cudaErrorNotReady ? cudaSuccess : code);
  }

 private:
  static std::byte* address_of(std::byte* pinned) {
    void* there = nullptr;
    device::check(cudaHostGetDevicePointer(&there, pinned, 0), "reach the receiver's memory");
    return static_cast<std::byte*>(there);
  }
  bool begin() noexcept { return well(cudaSetDevice(device_)); }
  // Says once why it is not.
  bool well(cudaError_t code) noexcept {
    if (code == cudaSuccess) return true;
    if (!std::exchange(said_, true)) {
      log::write(log::Level::error, {}, "pcie: device {}: {} ({}); nothing is sent any more", device_,
                 cudaGetErrorString(code), cudaGetErrorName(code));
    }
    return false;
  }
  cudaError_t put(const Rectangle& to, const std::byte* from, std::uint64_t from_stride) noexcept {
    std::byte* const there = lines_ + to.destination;
    if (to.rows == 1 || (from_stride == to.width && to.destination_stride == to.width)) {
      return cudaMemcpyAsync(there, from, to.bytes(), cudaMemcpyDefault, streams_.copies());
    }
    const CopiedLines lines{.to = there,
                            .to_pitch = to.destination_stride,
                            .from = from,
                            .from_pitch = from_stride,
                            .width = to.width,
                            .rows = to.rows};
    if (there_ && to.width < kByCopyEngine && fits_copy_lines(lines)) return copy_lines(lines, streams_.copies());
    return cudaMemcpy2DAsync(there, to.destination_stride, from, from_stride, to.width, to.rows, cudaMemcpyDefault,
                             streams_.copies());
  }
  // A copy from host memory to host memory would wait for all before it: this one goes through the device. A stream
  // keeps the pieces in order, so that one place is enough for it.
  cudaError_t bounce(const Rectangle& all) noexcept {
    auto* const place = bounce_[streams_.way()].as<std::byte>();
    if (all.bytes() <= CopyEngine::kLargestCopy) {
      const cudaError_t code =
          all.contiguous() ? cudaMemcpyAsync(place, all.source, all.bytes(), cudaMemcpyDefault, streams_.copies())
                           : cudaMemcpy2DAsync(place, all.width, all.source, all.source_stride, all.width, all.rows,
                                               cudaMemcpyDefault, streams_.copies());
      return code == cudaSuccess ? put(all, place, all.width) : code;
    }
    // One run longer than any that was asked for.
    for (std::uint64_t at = 0; at < all.width; at += CopyEngine::kLargestCopy) {
      const Rectangle piece{.source = all.source + at,
                            .destination = all.destination + at,
                            .width = static_cast<std::uint32_t>(std::min(CopyEngine::kLargestCopy, all.width - at)),
                            .rows = 1};
      if (const cudaError_t code = bounce(piece); code != cudaSuccess) return code;
    }
    return cudaSuccess;
  }

  std::shared_ptr<const void> keep_;
  const std::byte* (*find_)(const void*, const std::byte*) noexcept;
  int device_;
  std::optional<device::DeviceScope> scope_;  // while the members are made
  std::shared_ptr<const RemoteMemory> memory_;
  device::Pinning region_;
  device::Pinning control_;
  std::byte* control_there_;
  std::byte* records_there_;
  CopyStreams streams_;
  std::array<device::DeviceMemory, CopyStreams::kMostWays> bounce_;
  device::PinnedMemory word_;
  std::optional<RemoteLinesMapping> there_;  // lines in memory of a device
  std::byte* lines_ = nullptr;
  bool said_ = false;
};

}  // namespace

void CudaSource::check(int device) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    throw ConfigError(fmt::format("pcie: engine cuda finds no CUDA device on this machine ({}); use engine cpu",
                                  code == cudaSuccess ? "there is none" : cudaGetErrorString(code)));
  }
  if (device < 0 || device >= count) {
    throw ConfigError(
        fmt::format("pcie: there is no CUDA device {}; this machine has 0 … {} (engine_device)", device, count - 1));
  }
}

CudaSource::CudaSource(int device, std::span<const std::span<const std::byte>> frames)
    : impl_((check(device), std::make_shared<Impl>())) {
  impl_->number = device;
  const device::DeviceScope scope(device);
  const std::size_t bytes = all_bytes(frames);
  std::size_t free = 0;
  std::size_t total = 0;
  device::check(cudaMemGetInfo(&free, &total), "free memory");
  const double mebibytes = static_cast<double>(bytes) / 1048576.0;
  const bool there = bytes + kLeftFree <= free;
  for (const std::span<const std::byte> block : frames) {
    if (block.empty()) continue;
    if (there) {
      impl_->copies.emplace_back(block.size());
      auto* const copy = impl_->copies.back().as<std::byte>();
      device::check(cudaMemcpy(copy, block.data(), block.size(), cudaMemcpyHostToDevice), "copy frames to the device");
      impl_->blocks.push_back({block, copy});
    } else {
      // The device only reads: the runtime has no way to say so.
      impl_->pinned.push_back(
          std::make_unique<device::Pinning>(const_cast<std::byte*>(block.data()), block.size()));  // NOLINT
    }
  }
  impl_->how = there ? fmt::format("{:.1f} MiB of frames in memory of CUDA device {}", mebibytes, device)
                     : fmt::format("{:.1f} MiB of frames in pinned memory, for which CUDA device {} has no room",
                                   mebibytes, device);
}

std::unique_ptr<CopyDevice> CudaSource::make(std::shared_ptr<const RemoteMemory> memory) const {
  return std::make_unique<Copies>(impl_, std::move(memory));
}

const std::string& CudaSource::how() const noexcept { return impl_->how; }

}  // namespace rashpa::link::pcie
