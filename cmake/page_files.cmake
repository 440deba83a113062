# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=... -DOUTPUT=... -P page_files.cmake: the files of a folder as one C++ file, a byte at a time.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(types .html "text/html; charset=utf-8" .css "text/css; charset=utf-8" .js "text/javascript; charset=utf-8"
  .svg "image/svg+xml")
set(rows)
set(contents)
set(count 0)
foreach(file IN LISTS files)
  get_filename_component(extension ${file} LAST_EXT)
  list(FIND types ${extension} at)
  if(at LESS 0)
    message(FATAL_ERROR "server/page/files/${file}: cmake/page_files.cmake does not know what ${extension} is")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  file(READ ${FOLDER}/${file} hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND contents "constexpr char kFile${count}[] = {${bytes}'\\0'};\n")
  set(path /${file})
  if(file STREQUAL index.html)
    set(path /)
  endif()
  string(APPEND rows "    {\"${path}\", \"${type}\", {kFile${count}, sizeof kFile${count} - 1}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include <algorithm>\n#include <array>\n\n#include \"server/page/page_files.h\"\n
namespace likewise::server {\nnamespace {\n\n${contents}
constexpr std::array<PageFile, ${count}> kFiles = {{\n${rows}}};\n
}  // namespace\n
const PageFile* page_file(std::string_view path) {\n  const auto* found = std::ranges::find(kFiles, path, &PageFile::path);
  return found == kFiles.end() ? nullptr : found;\n}\n
}  // namespace likewise::server\n")
