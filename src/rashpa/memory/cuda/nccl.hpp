// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reductions between the devices of one process by NCCL, which is loaded at run time: a process with one device needs
/// none.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/memory/cuda/resources.hpp"

struct ncclComm;

namespace rashpa::memory::cuda {

/// The functions of NCCL 2 that are used. Results are ncclResult_t, 0 when all is well.
struct NcclLibrary {
  int (*get_version)(int* version) = nullptr;
  const char* (*error_text)(int code) = nullptr;
  int (*init_all)(ncclComm** communicators, int count, const int* devices) = nullptr;
  int (*destroy)(ncclComm* communicator) = nullptr;
  int (*abort)(ncclComm* communicator) = nullptr;
  int (*async_error)(ncclComm* communicator, int* code) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*reduce)(const void* from, void* to, std::size_t count, int type, int operation, int root,
                ncclComm* communicator, cudaStream_t stream) = nullptr;
};

/// Throws ResourceError that says what to install. NVLink multicast stays off unless the environment says otherwise
/// (NCCL_NVLS_ENABLE): it needs the fabric of the whole host, which others may share.
[[nodiscard]] NcclLibrary load_nccl(const char* file = "libnccl.so.2");

/// Different devices, each with a communicator and a stream of its own. One thread at a time; every wait has an end.
class DeviceGroup {
 public:
  /// The operation that joins elements.
  enum class Operation : std::uint8_t { add, largest };
  /// An array that each device has, of the same length.
  struct Array {
    Quantity::Type type = Quantity::Type::f64;
    Operation operation = Operation::add;
    std::size_t elements = 0;
    std::vector<std::byte*> at;  ///< by device; that of `root` becomes the result
  };

  /// Throws ResourceError.
  explicit DeviceGroup(const std::vector<int>& devices, const char* file = "libnccl.so.2");
  /// Communicators are left alone when a device is lost: they would wait for it.
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  /// Puts the reduction of all arrays to the one of device number `root` into the streams. False: words() says why, and
  /// nothing more is reduced.
  bool reduce(const std::vector<Array>& arrays, std::size_t root) noexcept;
  /// Waits until everything in the stream of device `number` is done, 10 s at most; returns the same.
  bool wait(std::size_t number) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] int device(std::size_t number) const noexcept { return devices_[number]; }
  [[nodiscard]] cudaStream_t stream(std::size_t number) const noexcept { return streams_[number].get(); }
  /// "NCCL 2.28.9".
  [[nodiscard]] std::string version() const;
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// The cause of its failure.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  bool fail(const char* what, const char* why) noexcept;
  [[nodiscard]] int look() const noexcept;
  NcclLibrary library_;
  std::vector<int> devices_;
  std::vector<Stream> streams_;
  std::vector<ncclComm*> communicators_;
  bool broken_ = false;
  std::string words_;
};

}  // namespace rashpa::memory::cuda
