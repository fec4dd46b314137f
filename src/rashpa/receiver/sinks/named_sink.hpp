// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A sink of a buffer, made from its name and named values: its own, and those of its line.
#include <string>
#include <string_view>

#include "rashpa/core/parameter.hpp"
#include "rashpa/receiver/config.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"

namespace rashpa::receiver {

/// Returns the configuration of a sink. `metadata` is for sinks whose files have it. Throws ConfigError that names the
/// sink and the key. Set-up only.
[[nodiscard]] SinkConfig named_sink(std::string_view kind, const NamedValues& values,
                                    const sink::NxmxMetadata& metadata = {});
/// Returns all sinks with their parameters and those of their lines, as JSON.
[[nodiscard]] std::string sinks_json();

}  // namespace rashpa::receiver
