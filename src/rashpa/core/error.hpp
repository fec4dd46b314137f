// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

namespace rashpa {

/// Root of all exceptions of the library. A message says what, where, why and what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The request itself is wrong: a region outside the module, an unknown kernel, a bad parameter.
class ConfigError : public Error {
 public:
  using Error::Error;
};
/// The machine cannot give what is asked: memory, a port, a device.
class ResourceError : public Error {
 public:
  using Error::Error;
};
/// A file is missing, unreadable or not what it should be.
class FileError : public Error {
 public:
  using Error::Error;
};
/// A call came in a state in which it is not allowed.
class StateError : public Error {
 public:
  using Error::Error;
};

/// The text of errno value `code`, for messages.
std::string errno_text(int code);

}  // namespace rashpa
