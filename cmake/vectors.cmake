# SPDX-License-Identifier: Apache-2.0
# Kernels are compiled once for every kind of vectors, and the best that a machine has is chosen when the program runs.
# `native` leaves out those that this machine would not choose: the program still runs everywhere, slower on machines with
# others. Tests and wheels have all; sanitizers look at the vectors of this machine, that of threads at the smallest.
set(RASHPA_VECTORS all CACHE STRING "Kinds of vectors that kernels are compiled for: all, native or least")
if(NOT RASHPA_VECTORS MATCHES "^(all|native|least)$")
  message(FATAL_ERROR "RASHPA_VECTORS: no kind of vectors '${RASHPA_VECTORS}'; choose all, native or least")
endif()
if(RASHPA_SANITIZE MATCHES "thread")
  set(RASHPA_VECTORS least)
elseif(RASHPA_SANITIZE AND RASHPA_VECTORS STREQUAL "all")
  set(RASHPA_VECTORS runnable)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND EXISTS /proc/cpuinfo AND NOT RASHPA_VECTORS STREQUAL "all")
  set(kinds HWY_AVX2 HWY_AVX3 HWY_AVX3_DL) # small to large; SSE4 is the base of all
  if(hwy_VERSION VERSION_GREATER_EQUAL 1.0.5)
    list(APPEND kinds HWY_AVX3_ZEN4)
  endif()
  if(hwy_VERSION VERSION_GREATER_EQUAL 1.1.0)
    list(APPEND kinds HWY_AVX3_SPR)
  endif()
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  set(unused ${kinds})
  if(RASHPA_VECTORS STREQUAL "native")
    if(
      flags MATCHES " avx512_bitalg"
      AND flags MATCHES " avx512_vbmi2"
      AND flags MATCHES " vaes"
      AND flags MATCHES " gfni"
    )
      list(REMOVE_ITEM unused HWY_AVX3_DL HWY_AVX3_ZEN4 HWY_AVX3_SPR)
    elseif(flags MATCHES " avx512bw" AND flags MATCHES " avx512vl" AND flags MATCHES " avx512dq")
      list(REMOVE_ITEM unused HWY_AVX3)
    elseif(flags MATCHES " avx2")
      list(REMOVE_ITEM unused HWY_AVX2)
    endif()
  elseif(RASHPA_VECTORS STREQUAL "runnable")
    if(flags MATCHES " avx512")
      set(unused "")
    else()
      list(REMOVE_ITEM unused HWY_AVX2)
    endif()
  endif()
  if(unused)
    list(JOIN unused "|" unused)
    add_compile_definitions("HWY_DISABLED_TARGETS=(${unused})")
  endif()
endif()
