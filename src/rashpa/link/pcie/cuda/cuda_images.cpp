// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/cuda_images.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/lost_value.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"
#include "rashpa/memory/cuda/cuda_gather.hpp"
#include "rashpa/memory/cuda/gpu_direct.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

namespace {

namespace device = memory::cuda;

// A smaller block may share such a piece of memory with others, and a process that opens it would get the piece.
constexpr std::uint64_t kPiece = 2U << 20;

class CudaImages final : public memory::DeviceImages, public memory::Gathering {
 public:
  CudaImages(int number, std::uint64_t bytes, Writers writers)
      : device_(number), scope_(number), memory_((bytes + kPiece - 1) / kPiece * kPiece) {
    device::check(cudaStreamSynchronize(nullptr), "clear the images");
    block_ = {.data = memory_.as<std::byte>(), .bytes = bytes, .accelerator = true};
    cudaDeviceProp properties{};
    device::check(cudaGetDeviceProperties(&properties, number), "properties of a device");
    how_ = fmt::format("{:.1f} MiB of images in memory of CUDA device {} ({})", static_cast<double>(bytes) / 1048576.0,
                       number, static_cast<const char*>(properties.name));
    if (writers == Writers::gpus) open_to_processes();
    if (writers == Writers::rnic) open_to_rnic();
    if (writers == Writers::itself) how_ += ", which gathers packets from pinned buffers";
    scope_.reset();
  }
  ~CudaImages() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_.get());
  }
  CudaImages(const CudaImages&) = delete;
  CudaImages& operator=(const CudaImages&) = delete;

  [[nodiscard]] const memory::DmaBlock& block() const noexcept override { return block_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  [[nodiscard]] std::unique_ptr<memory::GatherEngine> make_gather(const memory::GatherRoom& room) override {
    return device::make_cuda_gather(device_, memory_.as<std::byte>(), room);
  }
  [[nodiscard]] std::shared_ptr<void> open(std::span<std::byte> buffers) override {
    const device::DeviceScope scope(device_);
    return std::make_shared<device::Pinning>(buffers.data(), buffers.size());
  }
  void order_writes() noexcept override {
    if (flush_ == memory::Flush::by_host && cudaSetDevice(device_) == cudaSuccess) device::flush_remote_writes();
  }
  [[nodiscard]] bool shows_words() const noexcept override { return flush_ == memory::Flush::none; }
  void fill(const memory::LostPart& part) noexcept override {
    if (cudaSetDevice(device_) != cudaSuccess) return;
    fill_lines({.first = memory_.as<std::byte>() + part.first,
                .pitch = part.pitch,
                .line_bytes = part.line_bytes,
                .lines = part.lines,
                .bits = lost_bits(part.type),
                .pixel_bytes = pixel_bytes(part.type)},
               stream_.get());
  }
  void settle() noexcept override {
    if (cudaSetDevice(device_) == cudaSuccess) cudaStreamSynchronize(stream_.get());
  }
  [[nodiscard]] bool holds_lost(const memory::LostPart& part) noexcept override {
    const std::lock_guard lock(looking_);
    looked_at_.resize(std::size_t{part.line_bytes} * part.lines);
    if (cudaSetDevice(device_) != cudaSuccess ||
        cudaMemcpy2DAsync(looked_at_.data(), part.line_bytes, memory_.as<std::byte>() + part.first, part.pitch,
                          part.line_bytes, part.lines, cudaMemcpyDeviceToHost, looks_.get()) != cudaSuccess ||
        cudaStreamSynchronize(looks_.get()) != cudaSuccess) {
      return false;
    }
    const std::uint32_t bits = lost_bits(part.type);
    const std::size_t bytes = pixel_bytes(part.type);
    for (std::size_t at = 0; at + bytes <= looked_at_.size(); at += bytes) {
      if (std::memcmp(looked_at_.data() + at, &bits, bytes) != 0) return false;
    }
    return true;
  }

 private:
  void open_to_processes() {
    cudaIpcMemHandle_t handle{};
    static_assert(sizeof handle == sizeof(memory::DmaBlock::handle));
    if (const cudaError_t code = cudaIpcGetMemHandle(&handle, memory_.as<void>()); code != cudaSuccess) {
      cudaGetLastError();
      log::write(log::Level::warning, {},
                 "pcie: no other process will reach the images in memory of device {}: {} ({}); only sources of this "
                 "process can",
                 device_, cudaGetErrorString(code), cudaGetErrorName(code));
    }
    std::memcpy(block_.handle.data(), &handle, sizeof handle);
  }
  void open_to_rnic() {
    const memory::RemoteWrites writes = device::remote_writes(device_);
    flush_ = memory::flush_of(writes);
    how_ += ", " + memory::words_of(writes);
    how_ += flush_ == memory::Flush::by_host ? "; flushed before each stack" : "; no flush needed";
    device::Exported exported =
        device::export_dma_buf({memory_.as<std::byte>(), (block_.bytes + kPiece - 1) / kPiece * kPiece});
    exported_ = std::move(exported.file);
    block_.dmabuf = exported_.get();
    if (block_.dmabuf >= 0) return;
    how_ += "; no dma-buf: " + exported.why_not;
    log::write(log::Level::warning, {},
               "verbs: memory of device {} cannot be exported as dma-buf: {}; the RNIC gets it by nvidia-peermem, if "
               "that is loaded",
               device_, exported.why_not);
  }

  int device_;
  std::optional<device::DeviceScope> scope_;  // while the members are made
  device::DeviceMemory memory_;
  FileDescriptor exported_;  // of memory_
  memory::Flush flush_ = memory::Flush::none;
  device::Stream stream_;
  device::Stream looks_;  // of holds_lost()
  memory::DmaBlock block_;
  std::string how_;
  std::mutex looking_;
  std::vector<std::byte> looked_at_;  // guarded by looking_
};

}  // namespace

std::unique_ptr<memory::DeviceImages> make_cuda_images(int device, std::uint64_t bytes, Writers writers) {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess || device < 0 || device >= count) {
    throw ConfigError(fmt::format(
        "receiver.memory: images cannot lie in memory of CUDA device {}: {}; take the buffer in host memory, or name "
        "another device",
        device, code == cudaSuccess ? fmt::format("this machine has 0 … {}", count - 1) : cudaGetErrorString(code)));
  }
  return std::make_unique<CudaImages>(device, bytes, writers);
}

}  // namespace rashpa::link::pcie
