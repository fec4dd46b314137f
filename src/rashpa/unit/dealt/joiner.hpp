// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/join.hpp"

namespace rashpa::unit {

/// Makes one window from the sums of a DealtUnit's members. One thread at a time once it is made; any thread may call
/// trouble().
class Joiner {
 public:
  virtual ~Joiner() = default;
  /// Returns a mask in which bit a is set when members leave the parts of accumulation a in device memory.
  [[nodiscard]] virtual std::uint32_t on_device() const noexcept { return 0; }
  /// Announces at set-up that the quantities of accumulation `number` go into this memory, which outlives the joiner.
  virtual void writes_into(std::size_t number, std::span<std::byte> results) {
    static_cast<void>(number), static_cast<void>(results);
  }
  /// Joins parts of one window of accumulation `number`. `parts` has an entry for each member; its first array is null
  /// for a member without parts. The quantities are in `to` when it returns, which may take milliseconds. Returns false
  /// when they are lost; trouble() has the reason.
  virtual bool join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                    const kernel::AccumulatedArrays& to) noexcept = 0;
  /// Returns a description: "sums joined on the host".
  [[nodiscard]] virtual std::string how() const = 0;
  /// Returns the trouble as text; empty: none.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
};

/// The joins by accumulation, as the steps of a pipeline make them.
using Joins = std::vector<std::shared_ptr<kernel::Join>>;

/// Joins any parts on the host.
class HostJoiner final : public Joiner {
 public:
  /// Takes the memory. `members` is the most members; `why` is the reason why the parts are not joined on devices, and
  /// may be empty.
  HostJoiner(Joins joins, std::uint32_t members, std::string why);
  bool join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
            const kernel::AccumulatedArrays& to) noexcept override;
  [[nodiscard]] std::string how() const override;

 private:
  Joins joins_;
  std::string why_;
  std::vector<kernel::AccumulatedArrays> there_;
};

}  // namespace rashpa::unit
