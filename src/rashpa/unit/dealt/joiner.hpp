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

/// Makes one window of the sums of a DealtUnit's members. One thread at a time, once it is made; trouble() from any.
class Joiner {
 public:
  virtual ~Joiner() = default;
  /// Bit a: members leave the parts of accumulation a in memory of their devices.
  [[nodiscard]] virtual std::uint32_t on_device() const noexcept { return 0; }
  /// Tells at set-up that quantities of accumulation `number` will go somewhere into this memory, which outlives the
  /// joiner.
  virtual void writes_into(std::size_t number, std::span<std::byte> results) {
    static_cast<void>(number), static_cast<void>(results);
  }
  /// Joins parts of one window of accumulation `number`, an entry for each member: the first array is null of one that
  /// has none. Quantities are in `to` when it returns; it may take milliseconds. False: they are lost, trouble() says
  /// why.
  virtual bool join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                    const kernel::AccumulatedArrays& to) noexcept = 0;
  /// "sums joined on the host".
  [[nodiscard]] virtual std::string how() const = 0;
  /// The trouble in words; empty: none.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
};

/// The joins by accumulation, as the steps of a pipeline make them.
using Joins = std::vector<std::shared_ptr<kernel::Join>>;

/// Joins on the host whatever there is.
class HostJoiner final : public Joiner {
 public:
  /// `why` not otherwise; may be empty. `members`: at most.
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
