// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa {

/// A library that may be installed on this machine. It is opened at run time and never unloaded, because driver
/// libraries keep threads and handlers.
class SharedLibrary {
 public:
  /// Opens the library. Throws ResourceError with the name, the cause, and the remedy `advice`.
  SharedLibrary(const char* file, std::string advice);

  /// Returns the symbol, in exactly this version when one is given. Throws ResourceError with its name when the library
  /// is too old.
  [[nodiscard]] void* symbol(const char* name, const char* version = nullptr) const;
  /// Returns the symbol as symbol() does, or null when there is none.
  [[nodiscard]] void* symbol_if_any(const char* name, const char* version = nullptr) const noexcept;

  /// Loads the symbol into a function pointer of a table. Throws as symbol() does.
  template <typename Function>
  void load(Function*& out, const char* name, const char* version = nullptr) const {
    out = reinterpret_cast<Function*>(symbol(name, version));
  }
  /// Loads the symbol as load() does, or null when there is none.
  template <typename Function>
  void load_if_any(Function*& out, const char* name, const char* version = nullptr) const noexcept {
    out = reinterpret_cast<Function*>(symbol_if_any(name, version));
  }

 private:
  const char* file_;
  std::string advice_;
  void* handle_ = nullptr;
};

}  // namespace rashpa
