# SPDX-License-Identifier: Apache-2.0
# For wheels that run where nothing is installed (scripts/wheel): OpenBLAS, which auditwheel does not
# see because it is loaded by name (docs/decisions/0020-libraries-in-the-wheel.md), and the terms of
# all libraries of others that the wheels will hold.

if(LIKEWISE_LINK_FOLDER)
  set(openblas ${LIKEWISE_LINK_FOLDER}/others/libopenblas.so.0)
else()
  # The build without threads of its own: it is called from one thread.
  pkg_get_variable(openblas openblas libdir)
  find_file(LIKEWISE_OPENBLAS libopenblas.so.0 NO_DEFAULT_PATH
    PATHS ${openblas}/../openblas-serial ${openblas}/openblas-serial ${openblas})
  if(NOT LIKEWISE_OPENBLAS)
    message(FATAL_ERROR "there is no libopenblas.so.0 near ${openblas}, where pkg-config has OpenBLAS")
  endif()
  get_filename_component(openblas ${LIKEWISE_OPENBLAS} REALPATH)
endif()
message(STATUS "OpenBLAS of the wheel: ${openblas}")
install(FILES ${openblas} DESTINATION likewise RENAME libopenblas.so.0 COMPONENT python EXCLUDE_FROM_ALL)

# likewise_terms(COMPONENT FILE...): of the libraries that these files of a wheel take in.
function(likewise_terms component)
  set(folder ${SKBUILD_METADATA_DIR}/licenses)
  if(LIKEWISE_LINK_FOLDER)
    install(DIRECTORY ${LIKEWISE_LINK_FOLDER}/terms/ DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
    return()
  endif()
  install(CODE "
    set(holders ${ARGN})
    set(folder ${folder})
    include(${CMAKE_SOURCE_DIR}/cmake/copy_terms.cmake)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
if(TARGET _core)
  likewise_terms(python $<TARGET_FILE:_core> $<TARGET_FILE:likewise_cli> ${openblas})
endif()
if(TARGET likewise_cuda)
  likewise_terms(cuda_package $<TARGET_FILE:likewise_cuda>)
endif()
