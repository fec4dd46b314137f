#pragma once
#include <string>
#include <vector>

#include "rashpa/core/placement.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::vm {

/// One DTP's end as it goes through a file; the placement is the destination's alone.
struct ExchangedEnd {
  link::roce::Endpoint endpoint;
  Placement placement{};
};

/// Writes the file whole: other processes see nothing or all of it. Throws FileError.
void give(const std::string& path, const std::vector<ExchangedEnd>& ends);
/// Waits until the file is there. Throws FileError after `timeout_s`, or when it is not what give() writes.
std::vector<ExchangedEnd> take(const std::string& path, double timeout_s);
[[nodiscard]] bool there(const std::string& path);

}  // namespace rashpa::vm
