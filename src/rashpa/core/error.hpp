// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

namespace rashpa {

/// Root of all exceptions of the library. A message has the place, the error, its cause and a remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The request itself is wrong: a region outside the module, an unknown kernel, a bad parameter.
class ConfigError : public Error {
 public:
  using Error::Error;
};
/// The machine cannot provide a requested resource: memory, a port, a device.
class ResourceError : public Error {
 public:
  using Error::Error;
};
/// A file is missing, unreadable or malformed.
class FileError : public Error {
 public:
  using Error::Error;
};
/// A call is not allowed in the present state.
class StateError : public Error {
 public:
  using Error::Error;
};

/// Returns the text of errno value `code`, for messages.
std::string errno_text(int code);

}  // namespace rashpa
