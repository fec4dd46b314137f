// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/cuda/remote_lines_mapping.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {

namespace {

namespace device = memory::cuda;

// So that the current device writes into memory of device `other` itself, and not by way of the host.
void reach(int other) {
  int own = 0;
  device::check(cudaGetDevice(&own), "which device is current");
  if (own == other) return;
  int can = 0;
  device::check(cudaDeviceCanAccessPeer(&can, own, other), "whether a device reaches another");
  if (can == 0) {
    throw ConfigError(
        fmt::format("pcie: CUDA device {} does not reach the memory of device {}, where the receiver's images lie; "
                    "choose devices that do (nvidia-smi topo -p2p w), or a buffer in host memory",
                    own, other));
  }
  // A device reaches another one until the process ends, and says so once; to ask again is an error.
  static std::mutex asking;
  static std::set<std::pair<int, int>> reached;
  const std::lock_guard lock(asking);
  if (reached.contains({own, other})) return;
  device::check(cudaDeviceEnablePeerAccess(other, 0), fmt::format("reach memory of device {}", other));
  reached.insert({own, other});
}

}  // namespace

RemoteLinesMapping::RemoteLinesMapping(const RemoteLines& lines) : data_(lines.address) {
  if (data_ == nullptr) {
    cudaIpcMemHandle_t handle{};
    static_assert(sizeof handle == sizeof lines.handle);
    std::memcpy(&handle, lines.handle.data(), sizeof handle);
    const cudaError_t code = cudaIpcOpenMemHandle(&opened_, handle, cudaIpcMemLazyEnablePeerAccess);
    if (code != cudaSuccess) {
      cudaGetLastError();
      throw ResourceError(
          fmt::format("pcie: the memory of the GPU that has the receiver's images cannot be opened: {} ({}); both "
                      "processes must see that GPU, and this one's device must reach it",
                      cudaGetErrorString(code), cudaGetErrorName(code)));
    }
    data_ = static_cast<std::byte*>(opened_);
    return;
  }
  cudaPointerAttributes found{};
  device::check(cudaPointerGetAttributes(&found, data_), "whose memory the receiver's images lie in");
  if (found.type != cudaMemoryTypeDevice) {
    throw ConfigError("pcie: the receiver's images lie in no device's memory; configure both sides anew");
  }
  reach(found.device);
}

RemoteLinesMapping::~RemoteLinesMapping() {
  if (opened_ != nullptr) cudaIpcCloseMemHandle(opened_);
}

}  // namespace rashpa::link::pcie
