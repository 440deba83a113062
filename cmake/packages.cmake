# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by `cpack -G DEB` in the build folder: the program, what C++ projects need and,
# where it was built, the CUDA plug-in (configure with LIKEWISE_CUDA_ARCHITECTURES=all for that).
set(CPACK_PACKAGE_NAME likewise)
set(CPACK_PACKAGE_VENDOR likewise)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "likewise <packages@likewise.invalid>" CACHE STRING
  "Who answers for the Debian packages")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The first line of each description is that of project().
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME likewise)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libopenblas0)  # loaded at run time, so not in shlibdeps
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS likewise-cuda)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Learns from interactions of users and items (ratings, plays, clicks) and
answers with recommendations, similar items, predicted ratings and the
reasons for them: alternating least squares and nearest neighbours.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblikewise-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtbb-dev, libhwy-dev, libfmt-dev, zlib1g-dev, \
libzstd-dev, libxxhash-dev, libutf8proc-dev, libopenblas0, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Static library, headers and CMake package: find_package(likewise).")

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME likewise-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION contrib/science)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "likewise (= ${PROJECT_VERSION}), libopenblas0")
set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS libcuda1)
set(CPACK_COMPONENT_CUDA_DESCRIPTION
  "The plug-in that lets likewise train on NVIDIA GPUs of compute capability
8.0 or newer.")
if(TARGET likewise_cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()

# Where Debian wants the copyright of each package.
foreach(part program:likewise development:liblikewise-dev cuda:likewise-cuda)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  if(component IN_LIST CPACK_COMPONENTS_ALL)
    install(FILES cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
      COMPONENT ${component})
  endif()
endforeach()
include(CPack)
