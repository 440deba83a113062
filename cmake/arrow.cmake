# SPDX-License-Identifier: Apache-2.0
# The Arrow plug-in, src/data/columnar/arrow, which reads Parquet and Arrow files, where Arrow's C++ library
# is: as a package of the system, or in the pyarrow of .venv. LIKEWISE_ARROW says whether one is needed.
if(NOT LIKEWISE_ARROW)
  return()
endif()

# The build that scripts/wheel packs keeps the plug-in; no wheel holds it.
if(SKBUILD AND NOT LIKEWISE_BUNDLE AND LIKEWISE_ARROW STREQUAL AUTO)
  likewise_no_plugin(Arrow "the Python package reads Parquet and Arrow files through pyarrow")
endif()

set(arrow_folder)  # of libraries that the loader does not find by itself
find_package(Arrow CONFIG QUIET)
find_package(Parquet CONFIG QUIET)
if(Arrow_FOUND AND Parquet_FOUND)
  set(arrow_libraries Parquet::parquet_shared Arrow::arrow_shared)
  set(arrow_version ${Arrow_VERSION})
else()
  set(told)
  foreach(python ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    if(NOT told AND EXISTS ${python})
      execute_process(COMMAND ${python} -c
        "import pyarrow; print(pyarrow.cpp_version, pyarrow.get_include(), *pyarrow.get_library_dirs(), sep=';')"
        OUTPUT_VARIABLE told OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endforeach()
  if(NOT told)
    likewise_no_plugin(Arrow "there is neither Arrow's C++ library nor pyarrow in .venv (scripts/setup, \
pip install pyarrow)")
  endif()
  list(POP_FRONT told arrow_version arrow_include)
  set(arrow_libraries)
  foreach(library parquet arrow)
    list(TRANSFORM told APPEND /lib${library}.so.[0-9]* OUTPUT_VARIABLE places)
    file(GLOB files ${places})
    if(NOT files)
      likewise_no_plugin(Arrow "there is no lib${library} in ${told}, where pyarrow should have it")
    endif()
    list(GET files 0 file)
    get_filename_component(arrow_folder ${file} DIRECTORY)
    add_library(likewise_lib${library} SHARED IMPORTED)
    set_target_properties(likewise_lib${library} PROPERTIES
      IMPORTED_LOCATION ${file} INTERFACE_INCLUDE_DIRECTORIES ${arrow_include})
    list(APPEND arrow_libraries likewise_lib${library})
  endforeach()
endif()
if(arrow_version VERSION_LESS 24)
  likewise_no_plugin(Arrow "Arrow ${arrow_version} is too old; 24 is the first with these interfaces")
endif()

# A library of another architecture, or of a compiler with other strings, cannot be linked.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${arrow_libraries})
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("#include <arrow/io/file.h>
  int main(int, char** names) { return arrow::io::ReadableFile::Open(std::string(names[0])).ok() ? 0 : 1; }"
  LIKEWISE_ARROW_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT LIKEWISE_ARROW_LINKS)
  likewise_no_plugin(Arrow "Arrow ${arrow_version} does not work with ${CMAKE_CXX_COMPILER}; the log in \
${CMAKE_BINARY_DIR}/CMakeFiles says why")
endif()
message(STATUS "Arrow plug-in with Arrow ${arrow_version}")

file(GLOB ARROW_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/data/columnar/arrow/*.cpp)
likewise_plugin(likewise_arrow ${ARROW_SOURCES})
target_link_libraries(likewise_arrow PRIVATE ${arrow_libraries})
# Installed too it finds the libraries that it was built with. Arrow's headers are read once for all files.
set_target_properties(likewise_arrow PROPERTIES
  INSTALL_RPATH "${arrow_folder}" INSTALL_RPATH_USE_LINK_PATH ON UNITY_BUILD ON)
# A program built again must not find a plug-in of yesterday next to it.
if(TARGET likewise_cli)
  add_dependencies(likewise_cli likewise_arrow)
endif()
