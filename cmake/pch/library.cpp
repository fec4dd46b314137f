// SPDX-License-Identifier: Apache-2.0
// Nothing but the owner of the libraries' precompiled headers (cmake/precompiled.cmake).
