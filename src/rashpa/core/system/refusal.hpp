// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Errors by which the system refuses access to a file, as opposed to damage of the file.
#include "rashpa/core/error.hpp"

namespace rashpa {

/// The system refused to open or read a file at present, which says nothing about its content.
class RefusedError : public FileError {
 public:
  using FileError::FileError;
};

/// Returns true when errno value `code` is a refusal: too many open files, no permission, no memory.
bool is_refusal(int code) noexcept;

}  // namespace rashpa
