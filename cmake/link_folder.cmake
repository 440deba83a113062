# SPDX-License-Identifier: Apache-2.0
# LIKEWISE_LINK_FOLDER: what is made runs on older systems than this one. It is compiled as always, and linked with
# what lies in that folder (scripts/releasing/link_folder.py makes it): stand-ins of the C and C++ libraries
# of an older system, and the libraries of others to link in their place.
set(LIKEWISE_LINK_FOLDER "" CACHE PATH "Link with the libraries of an older system in this folder (scripts/release)")
if(NOT LIKEWISE_LINK_FOLDER)
  return()
endif()
if(NOT EXISTS ${LIKEWISE_LINK_FOLDER}/made)
  message(FATAL_ERROR "LIKEWISE_LINK_FOLDER=${LIKEWISE_LINK_FOLDER}: scripts/release has not made that folder")
endif()

# Libraries of this system that are linked all the same, such as zlib, may need more than the stand-ins have.
add_link_options(-B${LIKEWISE_LINK_FOLDER}/ -L${LIKEWISE_LINK_FOLDER} -Wl,--allow-shlib-undefined
  -Wl,--exclude-libs,libstdc++_pic.a:libc_nonshared.a:liblikewise_older.a)

function(likewise_link_instead target file)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES ${LIKEWISE_LINK_FOLDER}/others/${file})
  else()
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${LIKEWISE_LINK_FOLDER}/others/${file})
    endforeach()
  endif()
endfunction()
likewise_link_instead(TBB::tbb libtbb.so)
likewise_link_instead(fmt::fmt libfmt.a)
likewise_link_instead(PkgConfig::HWY libhwy.a)
likewise_link_instead(PkgConfig::ZSTD libzstd.a)
likewise_link_instead(PkgConfig::XXHASH libxxhash.a)
likewise_link_instead(PkgConfig::UTF8PROC libutf8proc.a)
likewise_link_instead(PkgConfig::SQLITE libsqlite3.a)
