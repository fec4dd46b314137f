// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/sender.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/sender-inl.hpp"

namespace rashpa::link::pcie {

const SenderConfig& checked(const SenderConfig& config) {
  if (config.memory == nullptr || !config.memory->is(config.destination) ||
      config.destination.qpn >= config.memory->dtps()) {
    throw ConfigError(fmt::format("pcie: {} has no DTP number {} under this key; configure both sides anew",
                                  config.destination.address, config.destination.qpn));
  }
  return config;
}

std::span<std::byte> host_region(const SenderConfig& config) {
  if (checked(config).memory->lines()) {
    throw ConfigError(fmt::format(
        "pcie: the images of the receiver at {} lie in memory of a GPU, where the processor writes nothing; "
        "use engine cuda, or a buffer in host memory",
        config.destination.address));
  }
  return config.memory->region();
}

template class SenderWith<CpuEngine>;
template class SenderWith<CopyEngine>;

}  // namespace rashpa::link::pcie
