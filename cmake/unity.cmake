# SPDX-License-Identifier: Apache-2.0
# Several sources in one translation unit: most of a small file's time goes into the headers of all. `make demo` and the
# sanitizers build so; other builds compile files alone, so that a changed one is all that is compiled again.
option(RASHPA_UNITY "Compile several sources as one" OFF)

# rashpa_unity(rashpa_link): sources of that library. Kernels with vectors include themselves once for every kind, and stay alone.
function(rashpa_unity target)
  if(NOT RASHPA_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "_simd\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
