// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rashpa::kernel {

/// A pass of CpuPass::Grain::block that also takes blocks of single items, in any order. Its findings are then bit for
/// bit those of blocks of all items.
class ByItem {
 public:
  virtual ~ByItem() = default;
};

}  // namespace rashpa::kernel
