// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Refusals of the system, which are no damage of a file.
#include "rashpa/core/error.hpp"

namespace rashpa {

/// The system did not let a file be opened or read now: that says nothing of its content.
class RefusedError : public FileError {
 public:
  using FileError::FileError;
};

/// Returns true when errno value `code` is such a refusal: too many open files, no permission, no memory.
bool is_refusal(int code) noexcept;

}  // namespace rashpa
