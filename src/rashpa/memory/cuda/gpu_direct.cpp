// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/gpu_direct.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>

#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::memory::cuda {

namespace {

/// Returns a function of the driver; null where it has none of that version.
template <typename Function>
Function driver_function(const char* name, unsigned version) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Function>(function);
}

constexpr unsigned kSince = 11'070;  // CUDA 11.7

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "an attribute of GPUDirect RDMA");
  return value;
}

bool exports_dma_bufs(int device) noexcept {
  const auto get = driver_function<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute", kSince);
  int value = 0;
  return get != nullptr && get(&value, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) == CUDA_SUCCESS && value != 0;
}

}  // namespace

RemoteWrites remote_writes(int device) {
  const int order = attribute(cudaDevAttrGPUDirectRDMAWritesOrdering, device);
  const int flush = attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions, device);
  RemoteWrites found;
  found.direct = attribute(cudaDevAttrGPUDirectRDMASupported, device) != 0;
  found.dma_buf = exports_dma_bufs(device);
  if (order >= cudaGPUDirectRDMAWritesOrderingAllDevices) {
    found.order = RemoteWrites::Order::all;
  } else if (order >= cudaGPUDirectRDMAWritesOrderingOwner) {
    found.order = RemoteWrites::Order::owner;
  }
  found.host_flush = (flush & cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
  found.stream_flush = (flush & cudaFlushGPUDirectRDMAWritesOptionMemOps) != 0;
  return found;
}

Exported export_dma_buf(std::span<std::byte> memory) {
  using Export = CUresult (*)(void*, CUdeviceptr, std::size_t, CUmemRangeHandleType, unsigned long long);  // NOLINT
  const auto give = driver_function<Export>("cuMemGetHandleForAddressRange", kSince);
  if (give == nullptr) return {{}, "this driver has no cuMemGetHandleForAddressRange"};
  int file = -1;
  const CUresult code =
      give(&file, reinterpret_cast<CUdeviceptr>(memory.data()), memory.size(), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (code == CUDA_SUCCESS) return {FileDescriptor(file), {}};
  return {{}, fmt::format("cuMemGetHandleForAddressRange says CUresult {}", static_cast<int>(code))};
}

bool flush_remote_writes() noexcept {
  return cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                            cudaFlushGPUDirectRDMAWritesToOwner) == cudaSuccess;
}

}  // namespace rashpa::memory::cuda
