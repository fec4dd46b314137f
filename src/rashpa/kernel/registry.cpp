// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/registry.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

// Each is defined in the folder of its name. The order is that of capabilities and reference pages.
#define RASHPA_KERNELS(KERNEL) \
  KERNEL(jungfrau)             \
  KERNEL(bragg_count)          \
  KERNEL(csr)                  \
  KERNEL(total_counts)         \
  KERNEL(accumulate)           \
  KERNEL(roi_stats)            \
  KERNEL(checksum)             \
  KERNEL(unpack)               \
  KERNEL(veto)                 \
  KERNEL(peakfinder8)          \
  KERNEL(peakfinder)           \
  KERNEL(sparsify)             \
  KERNEL(azimuthal)

#define RASHPA_DECLARE(name)       \
  namespace name {                 \
  const Kernel& kernel() noexcept; \
  }
RASHPA_KERNELS(RASHPA_DECLARE)
#undef RASHPA_DECLARE

const std::vector<const Kernel*>& kernels() {
#define RASHPA_ENTRY(name) &name::kernel(),
  static const std::vector<const Kernel*> all{RASHPA_KERNELS(RASHPA_ENTRY)};
#undef RASHPA_ENTRY
  return all;
}

const Kernel& kernel_named(std::string_view name) {
  std::string known;
  for (const Kernel* kernel : kernels()) {
    if (kernel->declaration().name == name) return *kernel;
    known += (known.empty() ? "" : ", ") + kernel->declaration().name;
  }
  throw ConfigError(fmt::format("kernel {} is not known; choose one of {}", name, known));
}

void check_new_name(const Declaration& declaration) {
  for (const Kernel* kernel : kernels()) {
    if (kernel->declaration().name != declaration.name) continue;
    throw ConfigError(fmt::format("{}: {} is the name of a kernel of this program; give it another", declaration.origin,
                                  declaration.name));
  }
}

std::string kernels_json() {
  std::string out;
  for (const Kernel* kernel : kernels()) out += (out.empty() ? "" : ",\n  ") + json_of(kernel->declaration());
  return "[\n  " + out + "\n]\n";
}

}  // namespace rashpa::kernel
