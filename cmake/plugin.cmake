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
