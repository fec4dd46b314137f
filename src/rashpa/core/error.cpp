// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/error.hpp"

#include <system_error>

namespace rashpa {

std::string errno_text(int code) { return std::generic_category().message(code); }

}  // namespace rashpa
