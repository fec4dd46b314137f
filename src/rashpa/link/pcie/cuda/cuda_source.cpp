// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/cuda_source.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/link/pcie/cuda/end_of_image.hpp"
#include "rashpa/link/pcie/cuda/image_launches.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"
#include "rashpa/link/pcie/cuda/remote_lines_mapping.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

namespace {

namespace device = memory::cuda;

constexpr std::size_t kLeftFree = std::size_t{512} << 20U;  // of a device's memory, for all else

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

  /// Returns where the device has what lies at `data`; null: it has no copy.
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
        word_(sizeof(std::uint64_t)) {
    if (memory_->lines()) {
      there_.emplace(*memory_->lines());
      launches_.emplace();
    }
    lines_ = there_ ? there_->data() : memory_->region().data();
    for (std::size_t way = 0; way < (launches_ ? ImageLaunches::kWays : 1); ++way) {
      bounce_.emplace_back(CopyEngine::kLargestCopy);
    }
    // The first launch loads the kernel, which may wait for the device.
    device::check(end({.reached = word_.as<std::uint64_t>()}), "write behind an image");
    wait();
    scope_.reset();
  }
  ~Copies() override {
    cudaSetDevice(device_);
    if (launches_) launches_->go_on(Company::none);
    wait();
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  bool copy(const Rectangle& rectangle) noexcept override {
    if (!begin()) return false;
    const std::byte* const there = find_(keep_.get(), rectangle.source);
    if (launches_) return well(launch(rectangle, there));
    return well(there != nullptr ? put(rectangle, there, rectangle.source_stride, stream_.get())
                                 : bounce(rectangle, stream_.get()));
  }

  bool mark(std::uint64_t number, const Event* event, std::atomic<std::uint32_t>* lock) noexcept override {
    if (!begin()) return false;
    EndOfImage said{.reached = word_.as<std::uint64_t>(), .number = number};
    if (event != nullptr) {
      std::memcpy(said.bytes.data(), event->record, said.bytes.size());
      said.record = reinterpret_cast<unsigned char*>(records_there_ + event->destination);
      const auto offset = reinterpret_cast<std::byte*>(lock) - memory_->control().data();
      said.lock = reinterpret_cast<std::uint32_t*>(control_there_ + offset);
      said.immediate = event->immediate;
    }
    return well(end(said));
  }

  bool go_on(Company company) noexcept override {
    return !launches_ || launches_->idle(company) || (begin() && well(launches_->go_on(company)));
  }

  [[nodiscard]] std::uint64_t reached() const noexcept override {
    // acquire: the device released it behind the lines
    return std::atomic_ref<std::uint64_t>(*word_.as<std::uint64_t>()).load(std::memory_order_acquire);
  }

  bool sound() noexcept override {
    if (!begin()) return false;
    const cudaError_t code = launches_ ? launches_->query() : cudaStreamQuery(stream_.get());
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
  cudaError_t end(const EndOfImage& said) noexcept {
    return launches_ ? launches_->add(said) : enqueue(said, stream_.get());
  }
  void wait() const noexcept {
    cudaStreamSynchronize(stream_.get());
    if (launches_) launches_->wait();
  }
  // Into a device's memory; `from` null: the device has no copy of it.
  cudaError_t launch(const Rectangle& all, const std::byte* from) noexcept {
    CopiedLines lines{.to = lines_ + all.destination,
                      .to_pitch = all.destination_stride,
                      .from = from,
                      .from_pitch = all.source_stride,
                      .width = all.width,
                      .rows = all.rows};
    if (all.contiguous()) {
      lines.width *= std::exchange(lines.rows, 1);
      lines.to_pitch = lines.from_pitch = 0;
    }
    if (from != nullptr && fits_kernel(lines)) return launches_->add(lines);
    cudaStream_t stream = nullptr;
    const cudaError_t code = launches_->begin_copy(
        {.to = lines.to, .pitch = lines.to_pitch, .width = lines.width, .rows = lines.rows}, stream);
    if (code != cudaSuccess) return code;
    return from != nullptr ? put(all, from, all.source_stride, stream) : bounce(all, stream);
  }
  cudaError_t put(const Rectangle& to, const std::byte* from, std::uint64_t from_stride, cudaStream_t stream) noexcept {
    std::byte* const there = lines_ + to.destination;
    if (to.rows == 1 || (from_stride == to.width && to.destination_stride == to.width)) {
      return cudaMemcpyAsync(there, from, to.bytes(), cudaMemcpyDefault, stream);
    }
    return cudaMemcpy2DAsync(there, to.destination_stride, from, from_stride, to.width, to.rows, cudaMemcpyDefault,
                             stream);
  }
  // A copy from host memory to host memory would wait for all before it: this one goes through the device. A stream
  // keeps the pieces in order, so that one place is enough for it.
  cudaError_t bounce(const Rectangle& all, cudaStream_t stream) noexcept {
    auto* const place = bounce_[launches_ ? launches_->way() : 0].as<std::byte>();
    if (all.bytes() <= CopyEngine::kLargestCopy) {
      const cudaError_t code = all.contiguous()
                                   ? cudaMemcpyAsync(place, all.source, all.bytes(), cudaMemcpyDefault, stream)
                                   : cudaMemcpy2DAsync(place, all.width, all.source, all.source_stride, all.width,
                                                       all.rows, cudaMemcpyDefault, stream);
      return code == cudaSuccess ? put(all, place, all.width, stream) : code;
    }
    // One run longer than any that was asked for.
    for (std::uint64_t at = 0; at < all.width; at += CopyEngine::kLargestCopy) {
      const Rectangle piece{.source = all.source + at,
                            .destination = all.destination + at,
                            .width = static_cast<std::uint32_t>(std::min(CopyEngine::kLargestCopy, all.width - at)),
                            .rows = 1};
      if (const cudaError_t code = bounce(piece, stream); code != cudaSuccess) return code;
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
  device::Stream stream_;                     // everything, in order, into host memory
  std::vector<device::DeviceMemory> bounce_;  // a stream's each
  device::PinnedMemory word_;
  std::optional<RemoteLinesMapping> there_;  // lines in memory of a device …
  std::optional<ImageLaunches> launches_;    // … and the engine that writes there
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
