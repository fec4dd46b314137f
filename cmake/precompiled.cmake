# SPDX-License-Identifier: Apache-2.0
# Headers that nearly every file reads, read once. Sources still include what they use: `make lint` compiles what changed
# without them (tools/check_includes.py).
option(RASHPA_PCH "Precompile the headers of the standard library, fmt and GoogleTest" ON)

set(
  RASHPA_PCH_HEADERS
  <algorithm>
  <array>
  <atomic>
  <chrono>
  <cstdint>
  <cstring>
  <filesystem>
  <functional>
  <map>
  <memory>
  <mutex>
  <optional>
  <span>
  <string>
  <string_view>
  <thread>
  <tuple>
  <utility>
  <variant>
  <vector>
  <fmt/core.h>
  <fmt/format.h>
)

# ccache can do with them only when it is told that their macros do not change.
if(CCACHE AND RASHPA_PCH)
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
  endif()
endif()

# rashpa_precompiled(target library|test): programs are compiled for other addresses than libraries, so each kind has its
# own.
function(rashpa_precompiled target kind)
  if(NOT RASHPA_PCH)
    return()
  endif()
  set(owner rashpa_pch_${kind})
  if(NOT TARGET ${owner})
    if(kind STREQUAL "test")
      add_executable(${owner} ${PROJECT_SOURCE_DIR}/cmake/pch/test_main.cpp)
      target_link_libraries(${owner} PRIVATE fmt::fmt Threads::Threads GTest::gtest GTest::gmock)
      target_compile_options(${owner} PRIVATE ${RASHPA_TEST_OPTIONS})
      target_precompile_headers(${owner} PRIVATE ${RASHPA_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    else()
      add_library(${owner} OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch/library.cpp)
      target_link_libraries(${owner} PRIVATE fmt::fmt Threads::Threads)
      target_precompile_headers(${owner} PRIVATE ${RASHPA_PCH_HEADERS})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
