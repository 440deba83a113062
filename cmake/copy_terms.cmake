# SPDX-License-Identifier: Apache-2.0
# While installing: copies the copyright files of the Debian packages that `holders` take libraries
# from, and of those that are Debian's themselves, into `folder`. Elsewhere than on Debian and Ubuntu it copies nothing.
find_program(DPKG_QUERY dpkg-query)
if(NOT DPKG_QUERY)
  message(WARNING "there is no dpkg-query: add the terms of the libraries in the wheel to it yourself")
  return()
endif()

# The C and C++ runtimes and zlib are those of the system.
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${holders} RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR unresolved
  POST_EXCLUDE_REGEXES "/(ld-linux|lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z))[-.]")
foreach(library ${libraries} ${holders})
  file(REAL_PATH ${library} library)
  get_filename_component(name ${library} NAME)
  execute_process(COMMAND ${DPKG_QUERY} -S */${name} OUTPUT_VARIABLE owners ERROR_QUIET)
  foreach(package ${owners})
    string(REGEX MATCH "^[^:,]+" package "${package}")
    if(EXISTS /usr/share/doc/${package}/copyright)
      file(COPY_FILE /usr/share/doc/${package}/copyright ${folder}/${package}.txt)
    endif()
  endforeach()
endforeach()
