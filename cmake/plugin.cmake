# SPDX-License-Identifier: Apache-2.0
# likewise_plugin(TARGET SOURCE...): a library that the program loads at run time. It holds its own
# copy of what it needs of likewise and shows nothing but its entry point.
function(likewise_plugin target)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE likewise fmt::fmt TBB::tbb)
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/plugin.map -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/plugin.map
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
endfunction()

# likewise_no_plugin(NAME REASON): stops where the plug-in was demanded, else ends the including file: goes on
# without the plug-in.
macro(likewise_no_plugin name reason)
  string(TOUPPER LIKEWISE_${name} likewise_demand)
  if(NOT "${${likewise_demand}}" STREQUAL AUTO)
    message(FATAL_ERROR "${likewise_demand}=${${likewise_demand}}: ${reason}")
  endif()
  message(STATUS "No ${name} plug-in: ${reason}")
  return()
endmacro()
