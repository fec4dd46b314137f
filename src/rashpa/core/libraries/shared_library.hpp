// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa {

/// A library that this machine may or may not have, opened at run time and never unloaded (libraries of drivers keep
/// threads and handlers).
class SharedLibrary {
 public:
  /// Throws ResourceError with the name, the cause, and `advice`, the remedy.
  SharedLibrary(const char* file, std::string advice);

  /// The symbol, of exactly this version when one is named. Throws ResourceError that names it when the library is too
  /// old.
  [[nodiscard]] void* symbol(const char* name, const char* version = nullptr) const;
  /// The same, or null.
  [[nodiscard]] void* symbol_if_any(const char* name, const char* version = nullptr) const noexcept;

  /// The symbol as a function, in the pointer of an entry of a table. Throws as symbol().
  template <typename Function>
  void load(Function*& out, const char* name, const char* version = nullptr) const {
    out = reinterpret_cast<Function*>(symbol(name, version));
  }
  /// The same, or null.
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
