// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/libraries/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa {

SharedLibrary::SharedLibrary(const char* file, std::string advice)
    : file_(file), advice_(std::move(advice)), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* why = dlerror();
  throw ResourceError(
      fmt::format("shim: cannot load {}: {}; {}", file, why != nullptr ? why : "unknown reason", advice_));
}

void* SharedLibrary::symbol_if_any(const char* name, const char* version) const noexcept {
  return version == nullptr ? dlsym(handle_, name) : dlvsym(handle_, name, version);
}

void* SharedLibrary::symbol(const char* name, const char* version) const {
  void* found = symbol_if_any(name, version);
  if (found == nullptr) {
    throw ResourceError(fmt::format("shim: {} has no {}{}{}: it is too old; {}", file_, name,
                                    version == nullptr ? "" : "@", version == nullptr ? "" : version, advice_));
  }
  return found;
}

}  // namespace rashpa
