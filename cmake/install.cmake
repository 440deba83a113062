# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, in parts: the program, the plug-ins for CUDA and for Parquet and Arrow
# files, and what a project needs that says find_package(likewise).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LIKEWISE_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/likewise)

if(TARGET likewise_cli)
  install(TARGETS likewise_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES docs/likewise.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  # What the program itself prints; a program for another processor cannot.
  if(NOT CMAKE_CROSSCOMPILING)
    set(completions ${CMAKE_CURRENT_BINARY_DIR}/completions)
    foreach(shell bash zsh fish)
      add_custom_command(TARGET likewise_cli POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
        COMMAND $<TARGET_FILE:likewise_cli> completion ${shell} > ${completions}/${shell})
    endforeach()
    install(FILES ${completions}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      RENAME likewise COMPONENT program)
    install(FILES ${completions}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
      RENAME _likewise COMPONENT program)
    install(FILES ${completions}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
      RENAME likewise.fish COMPONENT program)
  endif()
endif()
# ../lib/likewise of the program, see src/core/system/plugin_file.h.
foreach(plugin cuda arrow)
  if(TARGET likewise_${plugin})
    install(TARGETS likewise_${plugin} LIBRARY DESTINATION lib/likewise COMPONENT ${plugin})
  endif()
endforeach()

# The package likewise-cuda13 of pip, python/cuda.
if(TARGET likewise_cuda)
  install(TARGETS likewise_cuda LIBRARY DESTINATION likewise_cuda13 COMPONENT cuda_package EXCLUDE_FROM_ALL)
endif()
if(SKBUILD AND LIKEWISE_BUNDLE)
  include(cmake/bundle.cmake)
endif()

install(TARGETS likewise EXPORT likewise
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/likewise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT likewise NAMESPACE likewise:: FILE likewise-targets.cmake
  DESTINATION ${LIKEWISE_CMAKE_FOLDER} COMPONENT development)
configure_package_config_file(cmake/likewise-config.cmake.in likewise-config.cmake
  INSTALL_DESTINATION ${LIKEWISE_CMAKE_FOLDER} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(likewise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/likewise-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/likewise-config-version.cmake
  DESTINATION ${LIKEWISE_CMAKE_FOLDER} COMPONENT development)

include(cmake/packages.cmake)
