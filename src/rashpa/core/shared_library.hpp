// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa {

/// A library that this machine may or may not have, opened at run time and never unloaded (libraries of drivers keep
/// threads and handlers).
class SharedLibrary {
 public:
  /// Throws ResourceError: what, why, and `advice`, what to try.
  SharedLibrary(const char* file, std::string advice);

  /// The symbol, of exactly this version when one is named. Throws ResourceError that names it when the library is too
  /// old.
  [[nodiscard]] void* symbol(const char* name, const char* version = nullptr) const;
  /// The same, or null.
  [[nodiscard]] void* symbol_if_any(const char* name, const char* version = nullptr) const noexcept;

 private:
  const char* file_;
  std::string advice_;
  void* handle_ = nullptr;
};

}  // namespace rashpa
