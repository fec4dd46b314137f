# SPDX-License-Identifier: Apache-2.0
# Compiler settings, dependencies and the functions that folders use.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Options for the host compiler: C++ files get them as they are, CUDA files through nvcc. Some warnings do not bear the
# C++ that nvcc generates from a CUDA file; those stay with C++.
function(rashpa_host_options)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
  list(JOIN ARGN "," joined)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${joined}>")
endfunction()

# Every x86-64 machine since 2009; wider vectors are chosen at run time (Highway, ISA-L).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  rashpa_host_options(-march=x86-64-v2)
else()
  # Vectors without a size at compile time are no members of classes, as our kernels have them; NEON is on all of aarch64.
  add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()
rashpa_host_options(-Wall -Wextra -Wshadow)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wpedantic;-Wconversion;-Wno-sign-conversion>")
# Warnings are errors with the compilers that CI has; a newer compiler's new warning must not keep a user from building.
if(
  (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
)
  rashpa_host_options(-Werror)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>")
endif()
# What a report needs of debug information is in the presets: -g behind their -g1 would be more than that.
if(RASHPA_SANITIZE)
  add_compile_options(-fsanitize=${RASHPA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RASHPA_SANITIZE})
  if(RASHPA_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan) # atomic_thread_fence is not modelled; our rings use acquire/release only
  endif()
endif()

if(RASHPA_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link) # libraries need coverage, too, or the fuzzer is blind
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

include(${CMAKE_CURRENT_LIST_DIR}/components.cmake)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(zmq IMPORTED_TARGET libzmq) # only the benchmark's peer and, later, the stream2 sink
pkg_check_modules(uring REQUIRED liburing)
find_library(RASHPA_URING_LIBRARY liburing.a REQUIRED HINTS ${uring_LIBRARY_DIRS} ${uring_LIBDIR}) # static: 50 kB, and one library less to ask for
add_library(rashpa_uring INTERFACE)
target_link_libraries(rashpa_uring INTERFACE ${RASHPA_URING_LIBRARY})
target_include_directories(rashpa_uring SYSTEM INTERFACE ${uring_INCLUDE_DIRS})
pkg_search_module(hdf5 REQUIRED IMPORTED_TARGET hdf5 hdf5-serial) # the first name is a link that an installed package makes
if(RASHPA_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(RASHPA_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/precompiled.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/unity.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/vectors.cmake)

# Tests are compiled once and run once: most of their time goes into the compiler. What they test is optimised.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(RASHPA_TEST_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-O1>")
elseif(RASHPA_SANITIZE)
  # With all checks, and half the compiler's time: it is what is tested that computes.
  set(RASHPA_TEST_OPTIONS -O0)
endif()

# rashpa_library(core SOURCES a.cpp DEPS rashpa::x): the static library rashpa_core, alias rashpa::core.
function(rashpa_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(rashpa_${name} STATIC ${arg_SOURCES})
  add_library(rashpa::${name} ALIAS rashpa_${name})
  target_include_directories(rashpa_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(rashpa_${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  rashpa_unity(rashpa_${name})
  # A precompiled header brings the options that it was made with: -ffp-contract=off of a kernel would be undone.
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/rashpa/kernel")
    rashpa_precompiled(rashpa_${name} library)
  endif()
endfunction()

# rashpa_cuda_sources(rashpa_jungfrau jungfrau.cu): adds CUDA files to a target, and RASHPA_HAVE_CUDA=1 to it and to what
# links it, where CUDA was found; nothing otherwise.
function(rashpa_cuda_sources target)
  rashpa_component_sources(${target} cuda ${ARGN})
  if(RASHPA_CUDA)
    target_link_libraries(${target} PUBLIC CUDA::cudart_static)
  endif()
endfunction()

# rashpa_embedded_text(rashpa_core rashpa ${PROJECT_SOURCE_DIR}/schema/leap_seconds.txt): puts a text into a target, as
# `extern const std::string_view leap_seconds_txt` of the namespace.
function(rashpa_embedded_text target namespace source)
  cmake_path(GET source FILENAME file)
  string(REPLACE "." "_" name ${file})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_custom_command(
    OUTPUT ${made}
    COMMAND
      ${CMAKE_COMMAND} -D SOURCE=${source} -D MADE=${made} -D NAMESPACE=${namespace} -D NAME=${name} -P
      ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM
  )
  target_sources(${target} PRIVATE ${made})
endfunction()

# rashpa_opencl_sources(rashpa_jungfrau rashpa::kernel::jungfrau jungfrau.cl): puts the texts of OpenCL sources into a
# target, each as `extern const std::string_view` of the namespace, named jungfrau_cl, where the build has OpenCL.
function(rashpa_opencl_sources target namespace)
  if(NOT RASHPA_OPENCL)
    return()
  endif()
  foreach(source ${ARGN})
    rashpa_embedded_text(${target} ${namespace} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
endfunction()

# rashpa_kernel(csr SOURCES csr.cpp csr_simd.cpp step.cpp OPENCL csr_opencl.cpp CL csr.cl CUDA csr.cu): the library of a
# kernel. What is for devices is compiled where the build has them. EXACT: CUDA rounds each product, as processors do.
function(rashpa_kernel name)
  cmake_parse_arguments(arg "EXACT" "" "SOURCES;DEPS;OPENCL;CL;CUDA" ${ARGN})
  rashpa_library(
    ${name}
    SOURCES ${arg_SOURCES}
    DEPS rashpa::kernel rashpa::memory ${arg_DEPS}
    PRIVATE_DEPS PkgConfig::hwy fmt::fmt
  )
  if(arg_OPENCL)
    rashpa_component_sources(rashpa_${name} opencl ${arg_OPENCL})
    rashpa_opencl_sources(rashpa_${name} rashpa::kernel::${name} ${arg_CL})
  endif()
  rashpa_cuda_sources(rashpa_${name} ${arg_CUDA})
  if(RASHPA_CUDA)
    target_link_libraries(rashpa_${name} PUBLIC rashpa::device_memory)
  endif()
  set(exact $<$<BOOL:${arg_EXACT}>:--fmad=false>)
  target_compile_options(rashpa_${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;${exact}>")
endfunction()

# rashpa_device_program(rashpa_x): a program that needs a GPU. ctest does not know it; the target rashpa_device_programs
# builds all of them, and <build>/device_programs.txt, from which `make device-bundle` works, names them.
function(rashpa_device_program target)
  set_property(GLOBAL APPEND PROPERTY RASHPA_DEVICE_PROGRAMS ${target})
endfunction()

# Once, at the end: what rashpa_device_program collected.
function(rashpa_list_device_programs)
  get_property(programs GLOBAL PROPERTY RASHPA_DEVICE_PROGRAMS)
  add_custom_target(rashpa_device_programs)
  set(lines "")
  foreach(program ${programs})
    add_dependencies(rashpa_device_programs ${program})
    string(APPEND lines "$<TARGET_FILE:${program}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/device_programs.txt CONTENT "${lines}")
endfunction()

# rashpa_device_test(jungfrau_cuda SOURCES a_test.cpp DEPS rashpa::jungfrau): one GoogleTest program that needs a GPU, where
# CUDA was found; `make test-device` runs it.
function(rashpa_device_test name)
  if(NOT RASHPA_TESTS OR NOT RASHPA_CUDA)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(rashpa_${name}_test ${arg_SOURCES})
  target_link_libraries(rashpa_${name}_test PRIVATE ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(rashpa_${name}_test PRIVATE ${RASHPA_TEST_OPTIONS})
  rashpa_precompiled(rashpa_${name}_test test)
  rashpa_device_program(rashpa_${name}_test)
endfunction()

# Seconds of a machine for tests that take long: ctest begins with them, so that no processor waits for one of them at the
# end. They decide the order alone. ctest's own figures, of an earlier run, are not there in a fresh clone.
set(RASHPA_SECONDS_nth_failure 49)
set(RASHPA_SECONDS_net 35)
set(RASHPA_SECONDS_opencl_unit 30)
set(RASHPA_SECONDS_fpga_unit 25)
set(RASHPA_SECONDS_chain 25)
set(RASHPA_SECONDS_link 24)
set(RASHPA_SECONDS_opencl_kernels 20)
set(RASHPA_SECONDS_card_chain 20)
set(RASHPA_SECONDS_allocation 10)
set(RASHPA_SECONDS_unit_card 9)
set(RASHPA_SECONDS_sink 8)
set(RASHPA_SECONDS_fpga_card 8)
set(RASHPA_SECONDS_simulation 6)
set(RASHPA_SECONDS_unit_model 5)
set(RASHPA_SECONDS_unit 5)

# rashpa_test(core SOURCES a_test.cpp DEPS rashpa::core): one GoogleTest program, one ctest entry a program. ctest begins
# with the longest where the table below names it.
function(rashpa_test name)
  if(NOT RASHPA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(rashpa_${name}_test ${arg_SOURCES})
  target_link_libraries(rashpa_${name}_test PRIVATE ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(rashpa_${name}_test PRIVATE ${RASHPA_TEST_OPTIONS})
  rashpa_precompiled(rashpa_${name}_test test)
  add_test(NAME ${name} COMMAND rashpa_${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300) # it ends no test that passes, on a machine with other work either
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(DEFINED RASHPA_SECONDS_${name})
    set_tests_properties(${name} PROPERTIES COST ${RASHPA_SECONDS_${name}})
  endif()
endfunction()

# rashpa_publishes(rashpa_x_test): a program that publishes finds rashpa-publisher beside itself.
function(rashpa_publishes target)
  if(TARGET ${target})
    add_dependencies(${target} rashpa_publisher_program)
    add_custom_command(
      TARGET ${target}
      POST_BUILD
      COMMAND
        ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:rashpa_publisher_program>
        $<TARGET_FILE_DIR:${target}>/rashpa-publisher
      VERBATIM
    )
  endif()
endfunction()

# rashpa_test_objects(unit_contract SOURCES a.cpp DEPS rashpa::unit): tests that several programs run, compiled once; a
# program has them by `DEPS rashpa::unit_contract`.
function(rashpa_test_objects name)
  if(NOT RASHPA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(rashpa_${name} OBJECT ${arg_SOURCES})
  add_library(rashpa::${name} ALIAS rashpa_${name})
  target_link_libraries(rashpa_${name} PUBLIC ${arg_DEPS} GTest::gtest GTest::gmock)
  # As a program, not as a library, so that it may have the precompiled header of programs.
  set_target_properties(rashpa_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(rashpa_${name} PRIVATE -fPIE ${RASHPA_TEST_OPTIONS})
  rashpa_precompiled(rashpa_${name} test)
endfunction()

# rashpa_foreign_leaks(opencl_kernels): a test whose drivers or libraries keep memory for ever;
# tests/lsan.supp names them.
function(rashpa_foreign_leaks name)
  if(RASHPA_TESTS)
    set(options "suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "LSAN_OPTIONS=${options}")
  endif()
endfunction()

# rashpa_without_leak_check(opencl_unit): a test behind whose drivers' threads gcc 12's LeakSanitizer itself ends with signal
# 11, after all tests have passed. Addresses and undefined behaviour are checked as ever.
function(rashpa_without_leak_check name)
  if(RASHPA_TESTS)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
  endif()
endfunction()

# rashpa_bench(jungfrau SOURCES x_bench.cpp DEPS ...): one Google Benchmark program.
function(rashpa_bench name)
  if(NOT RASHPA_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(rashpa_${name}_bench ${arg_SOURCES})
  target_link_libraries(rashpa_${name}_bench PRIVATE ${arg_DEPS} benchmark::benchmark_main)
endfunction()

# rashpa_fuzzer(packet SOURCES x_fuzz.cpp DEPS ...): one libFuzzer program (clang only), and a test that runs the same
# function over tests/fuzz/corpus/packet.
function(rashpa_fuzzer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  if(RASHPA_TESTS)
    add_executable(rashpa_${name}_replay ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.cpp)
    target_link_libraries(rashpa_${name}_replay PRIVATE ${arg_DEPS})
    add_test(NAME fuzz_${name} COMMAND rashpa_${name}_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 120)
  endif()
  if(NOT RASHPA_FUZZERS)
    return()
  endif()
  add_executable(rashpa_${name}_fuzz ${arg_SOURCES})
  target_link_libraries(rashpa_${name}_fuzz PRIVATE ${arg_DEPS})
  target_compile_options(rashpa_${name}_fuzz PRIVATE -fsanitize=fuzzer)
  target_link_options(rashpa_${name}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()
