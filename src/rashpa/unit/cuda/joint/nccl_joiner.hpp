// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cuda/nccl.hpp"
#include "rashpa/unit/dealt/joiner.hpp"

namespace rashpa::unit::cuda {

/// Joins parts on different CUDA devices by NCCL, on the first device with some; that device writes the quantities into
/// host memory. A device that has all parts writes them without NCCL. The host joins copies of the parts, in memory
/// taken at the first use, when some devices have no parts or NCCL has failed. The host also joins parts in host
/// memory, and parts that are no plain sums.
class NcclJoiner final : public Joiner {
 public:
  /// Creates the joiner and runs each operation once, so that nothing is set up later. `facts` are the accumulations.
  /// Throws ResourceError when NCCL is absent or unusable.
  NcclJoiner(Joins joins, const std::vector<Accumulation>& facts, const std::vector<int>& devices);

  [[nodiscard]] std::uint32_t on_device() const noexcept override;
  void writes_into(std::size_t number, std::span<std::byte> results) override;
  bool join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
            const kernel::AccumulatedArrays& to) noexcept override;
  [[nodiscard]] std::string how() const override;
  [[nodiscard]] std::string trouble() const override;

 private:
  /// The memory of an accumulation that stays on the devices.
  struct Kept {
    std::unique_ptr<const kernel::cuda::PartsWriter> writer;
    std::vector<memory::cuda::DeviceGroup::Array> arrays;
  };
  static std::vector<Kept> kept_of(const Joins& joins, const std::vector<Accumulation>& facts, std::size_t devices);
  void try_once(Kept& kept);
  bool reduce(Kept& kept, std::span<const kernel::AccumulatedArrays> parts) noexcept;
  bool write(const Kept& kept, std::size_t device, const kernel::AccumulatedArrays& parts,
             const kernel::AccumulatedArrays& to) noexcept;
  bool join_on_host(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                    const kernel::AccumulatedArrays& to) noexcept;
  bool fail(const std::string& why) noexcept;

  memory::cuda::DeviceGroup group_;
  std::vector<Kept> kept_;  // by accumulation; without a writer: on the host
  HostJoiner host_;
  std::deque<memory::cuda::Pinning> pinnings_;
  std::vector<memory::Buffer> copies_;  // by device, when they are needed
  mutable std::mutex lock_;
  std::string trouble_;
};

/// Makes an NcclJoiner where possible, and otherwise a host joiner that knows the reason. Throws ConfigError as
/// device_number().
std::unique_ptr<Joiner> make_joiner(Joins joins, const std::vector<Accumulation>& facts,
                                    const std::vector<std::string>& devices);

}  // namespace rashpa::unit::cuda
