# SPDX-License-Identifier: Apache-2.0
# The library that users link, and what is installed.
#
# Pillarbox::pillarbox is one static archive: the objects of pillarbox_relay, pillarbox_webhook and all that they stand
# on. The inner libraries are not installed; their names are no promise (docs/decisions/0005-static-library.md).
include(CMakePackageConfigHelpers)

# All libraries of src/ that `target` needs, itself included.
function(pillarbox_collect target result)
  set(found ${${result}})
  if(NOT target IN_LIST found)
    list(APPEND found ${target})
    get_target_property(linked ${target} LINK_LIBRARIES)
    foreach(library IN LISTS linked)
      if(library MATCHES "^pillarbox_[a-z_]+$" AND TARGET ${library})
        pillarbox_collect(${library} found)
      endif()
    endforeach()
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(pillarbox_inner)
pillarbox_collect(pillarbox_relay pillarbox_inner)
pillarbox_collect(pillarbox_webhook pillarbox_inner)
list(TRANSFORM pillarbox_inner REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE pillarbox_objects)

set(pillarbox_headers error.h message.h outcome.h relay.h sink.h store.h version.h webhook.h)
set(PILLARBOX_PKGCONFIG_REQUIRES "libcrypto >= 3.0")
if(PILLARBOX_WITH_SQLITE)
  list(APPEND pillarbox_headers sqlite.h)
  list(APPEND PILLARBOX_PKGCONFIG_REQUIRES "sqlite3 >= 3.40")
endif()
if(PILLARBOX_WITH_POSTGRESQL)
  list(APPEND pillarbox_headers postgresql.h)
  list(APPEND PILLARBOX_PKGCONFIG_REQUIRES "libpq >= 15")
endif()
if(PILLARBOX_WITH_HTTP)
  list(APPEND PILLARBOX_PKGCONFIG_REQUIRES "libcurl >= 7.88")
endif()
list(TRANSFORM pillarbox_headers PREPEND ${PROJECT_SOURCE_DIR}/include/pillarbox/)

# pkg-config names them to the archive, to pillarbox.pc and to PillarboxConfig.cmake alike.
list(TRANSFORM PILLARBOX_PKGCONFIG_REQUIRES REPLACE " " "" OUTPUT_VARIABLE PILLARBOX_PKGCONFIG_MODULES)
pkg_check_modules(PILLARBOX_DEPENDENCIES REQUIRED QUIET IMPORTED_TARGET ${PILLARBOX_PKGCONFIG_MODULES})
find_package(Boost 1.81 REQUIRED COMPONENTS json)

# The file is libpillarbox.a, and those who link it call it Pillarbox::pillarbox.
add_library(pillarbox_public STATIC ${pillarbox_objects})
add_library(Pillarbox::pillarbox ALIAS pillarbox_public)
set_target_properties(pillarbox_public PROPERTIES OUTPUT_NAME pillarbox EXPORT_NAME pillarbox LINKER_LANGUAGE CXX
  VERIFY_INTERFACE_HEADER_SETS ON)
target_sources(pillarbox_public PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${pillarbox_headers})
target_compile_features(pillarbox_public PUBLIC cxx_std_20)
target_link_libraries(pillarbox_public PRIVATE PkgConfig::PILLARBOX_DEPENDENCIES Boost::json Threads::Threads)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Pillarbox)
install(TARGETS pillarbox_public EXPORT PillarboxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT PillarboxTargets NAMESPACE Pillarbox:: DESTINATION ${package_dir} COMPONENT dev)

list(JOIN PILLARBOX_PKGCONFIG_MODULES " " PILLARBOX_PKGCONFIG_MODULES)
list(JOIN PILLARBOX_PKGCONFIG_REQUIRES ", " PILLARBOX_PKGCONFIG_REQUIRES)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/PillarboxConfig.cmake.in
  ${PROJECT_BINARY_DIR}/PillarboxConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PillarboxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH PILLARBOX_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # so that the installed tree can be moved
configure_file(${PROJECT_SOURCE_DIR}/cmake/pillarbox.pc.in ${PROJECT_BINARY_DIR}/pillarbox.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/PillarboxConfig.cmake ${PROJECT_BINARY_DIR}/PillarboxConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/pillarbox.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

if(TARGET pillarbox_cli)
  install(TARGETS pillarbox_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
if(TARGET pillarbox_sqlite_extension)
  install(TARGETS pillarbox_sqlite_extension LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pillarbox COMPONENT program)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/sql DESTINATION ${CMAKE_INSTALL_DATADIR}/pillarbox COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
