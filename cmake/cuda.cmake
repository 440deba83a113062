# SPDX-License-Identifier: Apache-2.0
# The CUDA plug-in, src/backends/cuda, where there is a compiler for it. LIKEWISE_CUDA says whether
# one is needed.
if(SKBUILD_PROJECT_NAME STREQUAL likewise-cuda13)
  set(LIKEWISE_CUDA ON)  # `pip install ./python/cuda` asks for nothing else
elseif(SKBUILD AND LIKEWISE_CUDA STREQUAL ON AND NOT LIKEWISE_BUNDLE)
  message(FATAL_ERROR "LIKEWISE_CUDA=ON: for pip the CUDA plug-in is a package of its own: `pip install ./python/cuda`")
elseif(SKBUILD AND NOT LIKEWISE_BUNDLE)
  set(LIKEWISE_CUDA AUTO)
  likewise_no_plugin(CUDA "pip builds it on request, as a package of its own: `pip install ./python/cuda`")
endif()
if(NOT LIKEWISE_CUDA)
  return()
endif()

find_program(LIKEWISE_NVCC NAMES ${CMAKE_CUDA_COMPILER} $ENV{CUDACXX} nvcc
  PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
if(NOT LIKEWISE_NVCC)
  likewise_no_plugin(CUDA "there is no nvcc on the path or in /usr/local/cuda/bin; install the CUDA \
toolkit, or let CUDACXX name its nvcc")
endif()

# Program and plug-in come from one C++ compiler: types and exceptions cross between them.
set(ENV{CUDACXX} ${LIKEWISE_NVCC})
set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  likewise_no_plugin(CUDA "${LIKEWISE_NVCC} does not work with ${CMAKE_CXX_COMPILER}; the log in \
${CMAKE_BINARY_DIR}/CMakeFiles says why")
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  likewise_no_plugin(CUDA "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old; 12.0 is the first with C++20")
endif()
if(SKBUILD_PROJECT_NAME STREQUAL likewise-cuda13 AND NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^13[.]")
  message(FATAL_ERROR "likewise-cuda13 is built with CUDA 13; ${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}. \
Let CUDACXX name another nvcc")
endif()
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # not known to CMake before 3.26
endif()

# What to compile for: "native", the GPUs of this machine, which is quick; "all", every generation that
# the compiler knows (packages); or a list as in CMAKE_CUDA_ARCHITECTURES. A machine without a GPU
# compiles native for one generation, to see that it compiles, and not in the way of the program.
set(LIKEWISE_CUDA_ARCHITECTURES native CACHE STRING "native, all, or as CMAKE_CUDA_ARCHITECTURES")
set(LIKEWISE_GPUS "")
execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
  OUTPUT_VARIABLE listed ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" LIKEWISE_GPUS "${listed}")
  list(TRANSFORM LIKEWISE_GPUS REPLACE "\\." "")
  list(REMOVE_DUPLICATES LIKEWISE_GPUS)
endif()
set(architectures ${LIKEWISE_CUDA_ARCHITECTURES})
if(architectures STREQUAL native)
  set(architectures ${LIKEWISE_GPUS})
  list(FILTER architectures INCLUDE REGEX "^([89]|1[0-9])[0-9]$")  # older ones are not supported
  if(NOT architectures)
    set(architectures 90)
  endif()
  list(TRANSFORM architectures APPEND -real)
elseif(architectures STREQUAL all)
  # A GPU runs the machine code of its own generation (the number before the point): one for each
  # that the compiler knows, for its first compute capability. Later generations take the PTX.
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE listed)
  string(REGEX MATCHALL "[0-9]+" listed "${listed}")
  list(SORT listed COMPARE NATURAL)
  set(generations)
  set(architectures)
  foreach(capability IN LISTS listed)
    string(REGEX REPLACE ".$" "" generation ${capability})
    if(generation GREATER_EQUAL 8 AND NOT generation IN_LIST generations)
      list(APPEND generations ${generation})
      list(APPEND architectures ${capability}-real)
      set(newest ${capability})
    endif()
  endforeach()
  list(APPEND architectures ${newest}-virtual)
endif()
# Code for compute capability 9.0 alone may use what later ones have not (sm_90a); PTX may not.
list(TRANSFORM architectures REPLACE "^90$" "90a-real;90-virtual")
list(TRANSFORM architectures REPLACE "^90-real$" "90a-real")
set(LIKEWISE_HAS_SM_90A FALSE)
if("90a-real" IN_LIST architectures)
  set(LIKEWISE_HAS_SM_90A TRUE)
endif()
message(STATUS "CUDA plug-in for ${architectures}")
set(LIKEWISE_CUDA_COMPILED_FOR "${architectures}")
# What nobody will run: no GPU here, and no plug-in asked for.
set(LIKEWISE_CUDA_IS_A_CHECK FALSE)
if(LIKEWISE_CUDA STREQUAL AUTO AND LIKEWISE_CUDA_ARCHITECTURES STREQUAL native AND NOT LIKEWISE_GPUS)
  set(LIKEWISE_CUDA_IS_A_CHECK TRUE)
endif()

find_package(CUDAToolkit REQUIRED)
file(GLOB_RECURSE CUDA_SOURCES CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cpp ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cu)
list(FILTER CUDA_SOURCES EXCLUDE REGEX /src/backends/cuda/host/)  # the program's: it needs no driver
likewise_plugin(likewise_cuda ${CUDA_SOURCES})
likewise_unity_build(likewise_cuda)

# likewise_unity_kernels(TARGET): up to four .cu files of a folder as one, for CMake has no unity builds of CUDA before 3.31.
# Together they take a quarter less. For checks: what is run is compiled file by file.
function(likewise_unity_kernels target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  set(groups)
  foreach(source IN LISTS sources)
    likewise_name_group(name ${source} 4 ".*")
    list(APPEND groups ${name})
    string(APPEND includes_${name} "#include \"${source}\"\n")
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(name IN LISTS groups)
    set(file ${CMAKE_BINARY_DIR}/unity_kernels/${name}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_${name}}" @ONLY)
    target_sources(${target} PRIVATE ${file})
  endforeach()
endfunction()
if(LIKEWISE_CUDA_IS_A_CHECK AND LIKEWISE_UNITY_BUILD)
  likewise_unity_kernels(likewise_cuda)
endif()

list(JOIN WARNINGS "," host_warnings)
set(quick_kernels)
if(LIKEWISE_CUDA_IS_A_CHECK)
  # All passes, with less optimisation: half of the time.
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA --Ofast-compile=max LIKEWISE_CUDA_FAST_COMPILE)
  if(LIKEWISE_CUDA_FAST_COMPILE)
    set(quick_kernels --Ofast-compile=max)
  endif()
endif()
# likewise_compile_cuda(TARGET): what a target with CUDA sources needs.
function(likewise_compile_cuda target)
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES "${LIKEWISE_CUDA_COMPILED_FOR}" CUDA_RUNTIME_LIBRARY Static
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all;-Xcompiler=${host_warnings};${quick_kernels}>")
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${LIKEWISE_HAS_SM_90A}>:LIKEWISE_SM_90A>)
  if(LIKEWISE_WERROR)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
  endif()
endfunction()
likewise_compile_cuda(likewise_cuda)
# A program built again must not find a plug-in of yesterday next to it, where it can use one.
if(TARGET likewise_cli AND (LIKEWISE_GPUS OR LIKEWISE_CUDA STREQUAL ON))
  add_dependencies(likewise_cli likewise_cuda)
endif()
