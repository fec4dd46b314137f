// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images in memory that stands for a GPU's: exported by a file, and written by the stand-in RNIC. Where the machine
/// has /dev/udmabuf, the file is a dma-buf of the kernel; otherwise it is the memory's own memfd.
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/testing/rnic/stand_in.hpp"
#include "rashpa/memory/device_images.hpp"

namespace rashpa::link::testing::rnic {

class ExportedImages final : public memory::DeviceImages {
 public:
  explicit ExportedImages(std::size_t bytes)
      : bytes_((bytes + 4095) / 4096 * 4096), memory_(memfd_create("images", MFD_ALLOW_SEALING | MFD_CLOEXEC)) {
    if (ftruncate(memory_.get(), static_cast<off_t>(bytes_)) != 0) throw std::runtime_error("memfd");
    fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("mmap");
    exported_ = dma_buf();
    if (exported_.get() >= 0) how_ = "a dma-buf of /dev/udmabuf";
    block_ = {.data = static_cast<std::byte*>(mapped), .bytes = bytes, .accelerator = true};
    block_.dmabuf = exported_.get() >= 0 ? exported_.get() : memory_.get();
    declare_accelerator({block_.data, bytes_});
  }
  ~ExportedImages() override { munmap(block_.data, bytes_); }
  ExportedImages(const ExportedImages&) = delete;
  ExportedImages& operator=(const ExportedImages&) = delete;

  [[nodiscard]] const memory::DmaBlock& block() const noexcept override { return block_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  void order_writes() noexcept override {
    ++ordered;
    if (flushes) flush();
  }
  [[nodiscard]] bool shows_words() const noexcept override { return words; }
  void fill(const memory::LostPart& part) noexcept override {
    ++filled;
    (void)part;
  }
  void settle() noexcept override {}
  [[nodiscard]] bool holds_lost(const memory::LostPart& /*part*/) noexcept override { return true; }

  bool flushes = true;  ///< false: as a device that nobody flushes
  bool words = true;
  int ordered = 0;
  int filled = 0;

 private:
  [[nodiscard]] FileDescriptor dma_buf() const {
    const FileDescriptor maker(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
    if (maker.get() < 0) return FileDescriptor();
    udmabuf_create request{};
    request.memfd = static_cast<std::uint32_t>(memory_.get());
    request.flags = UDMABUF_FLAGS_CLOEXEC;
    request.size = bytes_;
    return FileDescriptor(ioctl(maker.get(), UDMABUF_CREATE, &request));
  }

  std::size_t bytes_;
  FileDescriptor memory_;
  FileDescriptor exported_;
  memory::DmaBlock block_;
  std::string how_ = "a memfd";
};

}  // namespace rashpa::link::testing::rnic
