# SPDX-License-Identifier: Apache-2.0
# For wheels that run where nothing is installed (scripts/wheel): OpenBLAS, which auditwheel does not
# see because it is loaded by name (docs/decisions/0020-libraries-in-the-wheel.md), and the terms of
# all libraries of others that the wheel will hold.

# The build without threads of its own: it is called from one thread.
pkg_get_variable(openblas openblas libdir)
find_file(LIKEWISE_OPENBLAS libopenblas.so.0 NO_DEFAULT_PATH
  PATHS ${openblas}/../openblas-serial ${openblas}/openblas-serial ${openblas})
if(NOT LIKEWISE_OPENBLAS)
  message(FATAL_ERROR "there is no libopenblas.so.0 near ${openblas}, where pkg-config has OpenBLAS")
endif()
get_filename_component(openblas ${LIKEWISE_OPENBLAS} REALPATH)
message(STATUS "OpenBLAS of the wheel: ${openblas}")
install(FILES ${openblas} DESTINATION likewise RENAME libopenblas.so.0 COMPONENT python EXCLUDE_FROM_ALL)

set(holders $<TARGET_FILE:_core> $<TARGET_FILE:likewise_cli> ${openblas})
if(TARGET likewise_cuda)
  list(APPEND holders $<TARGET_FILE:likewise_cuda>)
endif()
install(CODE "
  set(openblas ${openblas})
  set(holders ${holders})
  set(folder ${SKBUILD_METADATA_DIR}/licenses)
  include(${CMAKE_CURRENT_LIST_DIR}/copy_terms.cmake)"
  COMPONENT python EXCLUDE_FROM_ALL)
