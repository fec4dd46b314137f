// SPDX-License-Identifier: Apache-2.0
/// Images of sls_rate.cpp in memory of a GPU: gathered there, or copied from host memory as the unit does it.
#include <cuda_runtime_api.h>

#include <deque>

#include "rashpa/core/ability.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "sls_images.hpp"

namespace rashpa::link::sls {

namespace {

namespace device = memory::cuda;

class Gathered final : public PlacedImages {
 public:
  explicit Gathered(std::uint64_t bytes)
      : images_(pcie::make_cuda_images(0, bytes, pcie::Writers::itself)),
        records_(bytes, memory::MemoryKind::pageable) {}
  [[nodiscard]] ReceiverMemory memory() override {
    return {images_->block(), records_.bytes(), able<memory::Gathering>(*images_)};
  }

 private:
  std::unique_ptr<memory::DeviceImages> images_;
  memory::Buffer records_;
};

class Copied final : public Images {
 public:
  explicit Copied(std::uint64_t bytes)
      : region_(bytes, memory::MemoryKind::huge), pinned_(region_.data(), bytes), images_(bytes) {
    device::check(cudaStreamSynchronize(nullptr), "clear the images");
  }
  ~Copied() override {
    cudaStreamSynchronize(stream_.get());
    for (const Copy& copy : copies_) cudaEventDestroy(copy.done);
    for (cudaEvent_t event : free_) cudaEventDestroy(event);
  }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;
  [[nodiscard]] ReceiverMemory memory() override { return region_.bytes(); }
  void take(std::uint32_t dtp, std::uint64_t index, std::uint64_t offset, std::uint64_t bytes) override {
    cudaEvent_t done = nullptr;
    if (free_.empty()) {
      device::check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "make an event");
    } else {
      done = free_.front();
      free_.pop_front();
    }
    device::check(cudaMemcpyAsync(images_.as<std::byte>() + offset, region_.data() + offset, bytes,
                                  cudaMemcpyHostToDevice, stream_.get()),
                  "copy an image");
    device::check(cudaEventRecord(done, stream_.get()), "record an event");
    copies_.push_back({dtp, index, done});
  }
  bool release(const Release& release) override {
    while (!copies_.empty() && cudaEventQuery(copies_.front().done) == cudaSuccess) {
      release(copies_.front().dtp, copies_.front().index + 1);
      free_.push_back(copies_.front().done);
      copies_.pop_front();
    }
    return !copies_.empty();
  }

 private:
  struct Copy {
    std::uint32_t dtp;
    std::uint64_t index;
    cudaEvent_t done;
  };
  memory::Buffer region_;
  device::Pinning pinned_;
  device::DeviceMemory images_;
  device::Stream stream_;
  std::deque<Copy> copies_;
  std::deque<cudaEvent_t> free_;
};

}  // namespace

std::unique_ptr<Images> make_gpu_images(bool gathered, std::uint64_t bytes) {
  if (gathered) return std::make_unique<Gathered>(bytes);
  return std::make_unique<Copied>(bytes);
}

}  // namespace rashpa::link::sls
