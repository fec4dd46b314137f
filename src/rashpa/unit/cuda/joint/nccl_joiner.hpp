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

/// Joins parts on different CUDA devices by NCCL, on the first device that has some. That device then writes the
/// quantities into memory of the host. A device that has all parts writes them at once. The host joins copies of the
/// parts when some devices have none, or when NCCL has failed; it takes memory for that at the first time. It also
/// joins parts that lie on the host, and parts that are no plain sums.
class NcclJoiner final : public Joiner {
 public:
  /// `facts`: the accumulated quantities, by accumulation. Tries everything once, so that nothing is set up later.
  /// Throws ResourceError when NCCL is not there or cannot be used.
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

/// NcclJoiner where it can be, else one on the host that says why. Throws ConfigError as device_number().
std::unique_ptr<Joiner> make_joiner(Joins joins, const std::vector<Accumulation>& facts,
                                    const std::vector<std::string>& devices);

}  // namespace rashpa::unit::cuda
