# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake: the files of a folder as C++, see page_files.h.
cmake_minimum_required(VERSION 3.22)

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(arrays)
set(rows)
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
foreach(file IN LISTS files)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  if(NOT type_${extension})
    message(FATAL_ERROR "${FOLDER}/${file}: what content type has .${extension}? embed.cmake has the list")
  endif()
  string(MAKE_C_IDENTIFIER k_${file} name)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char ${name}[] = {${bytes}};\n")
  file(SHA256 ${FOLDER}/${file} hash)
  string(SUBSTRING ${hash} 0 24 hash)
  set(path /${file})
  if(file STREQUAL index.html)
    set(path /)
  endif()
  string(APPEND rows
    "    {\"${path}\", \"${type_${extension}}\", \"\\\"${hash}\\\"\", {${name}, sizeof ${name}}},\n")
endforeach()

file(WRITE ${OUTPUT}.new "// Made by server/page/embed.cmake.
#include \"page/page_files.h\"

namespace likewise::server {
namespace {
${arrays}
constexpr PageFile kFiles[] = {
${rows}};
}  // namespace

std::span<const PageFile> page_files() { return kFiles; }

}  // namespace likewise::server
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
