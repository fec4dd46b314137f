// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/system/refusal.hpp"

#include <cerrno>

namespace rashpa {

bool is_refusal(int code) noexcept {
  switch (code) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EACCES:
    case EPERM:
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ENOLCK:
    case ESTALE:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace rashpa
