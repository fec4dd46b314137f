# SPDX-License-Identifier: Apache-2.0
# Parts of the program that a build may leave out, each with a line in the table below: the only place that names them.
# Sources of a part are added by rashpa_component_sources(); the program says what it has by rashpa/core/components.hpp.

# rashpa_component(cuda ADDS "…" NEEDS "…" [ASKED]): one part. ADDS: names in run files, for error messages. NEEDS: what the machine that builds
# it must have besides packages-run.txt. ASKED: sources ask RASHPA_HAVE_CUDA; of the others a file takes the place, or nobody calls them.
set(RASHPA_KNOWN_COMPONENTS "")
macro(rashpa_component name)
  cmake_parse_arguments(component "ASKED" "ADDS;NEEDS" "" ${ARGN})
  list(APPEND RASHPA_KNOWN_COMPONENTS ${name})
  set(RASHPA_${name}_ADDS "${component_ADDS}")
  set(RASHPA_${name}_NEEDS "${component_NEEDS}")
  set(RASHPA_${name}_ASKED ${component_ASKED})
endmacro()

rashpa_component(cuda ADDS "unit cuda, engine cuda of the link pcie" NEEDS "nvcc of CUDA 12.5 or newer" ASKED)
rashpa_component(opencl ADDS "unit opencl" NEEDS "opencl-c-headers" ASKED)
rashpa_component(verbs ADDS "link verbs" NEEDS "libibverbs-dev")
rashpa_component(card ADDS "unit fpga, link fpga, emulators on a card" NEEDS "")
rashpa_component(vfio ADDS "memory that devices behind an IOMMU reach" NEEDS "")

set(
  RASHPA_COMPONENTS
  all
  CACHE STRING
  "Parts of the program to build: all (those that this machine can build), or names of cmake/components.cmake, or none"
)
if(RASHPA_COMPONENTS STREQUAL "all")
  set(components ${RASHPA_KNOWN_COMPONENTS})
elseif(RASHPA_COMPONENTS STREQUAL "none")
  set(components "")
else()
  set(components ${RASHPA_COMPONENTS})
endif()
foreach(name ${components})
  if(NOT name IN_LIST RASHPA_KNOWN_COMPONENTS)
    list(JOIN RASHPA_KNOWN_COMPONENTS ", " known)
    message(FATAL_ERROR "RASHPA_COMPONENTS: no component '${name}'; choose all, none or some of ${known}")
  endif()
endforeach()

# CUDA is found or not found, nothing else changes. Machine code for A100 and H100/H200, and PTX that the driver
# compiles on later ones. The runtime is linked statically and the driver is looked up when it is needed: the same
# binary runs where there is no GPU. Builds with sanitizers or for fuzzing are of the host's code only.
if(RASHPA_SANITIZE OR RASHPA_FUZZERS)
  list(REMOVE_ITEM components cuda)
endif()
if("cuda" IN_LIST components)
  include(CheckLanguage)
  check_language(CUDA)
  find_package(CUDAToolkit 12.5 QUIET)
  if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc has C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
  else()
    list(REMOVE_ITEM components cuda)
  endif()
endif()

# RASHPA_CUDA, RASHPA_OPENCL and so on: whether this build has it. And the table that the program shows.
set(RASHPA_COMPONENT_ROWS "")
set(left_out "")
foreach(name ${RASHPA_KNOWN_COMPONENTS})
  string(TOUPPER ${name} upper)
  set(built false)
  set(RASHPA_${upper} OFF)
  if(name IN_LIST components)
    set(built true)
    set(RASHPA_${upper} ON)
  else()
    string(APPEND left_out " ${name} (${RASHPA_${name}_ADDS})")
  endif()
  string(
    APPEND RASHPA_COMPONENT_ROWS
    "    Component{\"${name}\", ${built}, \"${RASHPA_${name}_ADDS}\", \"${RASHPA_${name}_NEEDS}\"},\n"
  )
endforeach()
list(LENGTH RASHPA_KNOWN_COMPONENTS RASHPA_COMPONENT_COUNT)
if(left_out)
  message(STATUS "This build leaves out:${left_out}. `make build` has all that this machine can build.")
endif()

# rashpa_component_sources(rashpa_csr opencl csr_opencl.cpp [ELSE no_opencl.cpp]): adds sources to a target, and
# RASHPA_HAVE_OPENCL=1 to it and to those that link it if that is ASKED, where the build has that part; what stands behind ELSE otherwise.
function(rashpa_component_sources target component)
  cmake_parse_arguments(arg "" "" "ELSE" ${ARGN})
  string(TOUPPER ${component} upper)
  if(RASHPA_${upper})
    target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    if(RASHPA_${component}_ASKED)
      target_compile_definitions(${target} PUBLIC RASHPA_HAVE_${upper}=1)
    endif()
  else()
    target_sources(${target} PRIVATE ${arg_ELSE})
  endif()
endfunction()
