# SPDX-License-Identifier: Apache-2.0
# pillarbox_library(name SOURCES … DEPENDS …): one folder of src/ as a static library.
# pillarbox_test(name SOURCES … DEPENDS … LABELS …): one GoogleTest program and its ctest entry. Each program
#   writes its cases to build/<preset>/results/<name>.xml (JSON has no reasons of skips), which scripts/test adds up.
# pillarbox_embed(target OUTPUT f SYMBOL s FILES …): files as one sorted table of string literals.
include(CMakeParseArguments)

function(pillarbox_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:pillarbox_flags>)
endfunction()

function(pillarbox_test name)
  if(NOT PILLARBOX_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;ARGS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main
    pillarbox_flags)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1
    --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${name}.xml ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

function(pillarbox_embed target)
  cmake_parse_arguments(ARG "" "OUTPUT;SYMBOL;BASE" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DSYMBOL=${ARG_SYMBOL}" "-DBASE=${ARG_BASE}"
      "-DFILES=${ARG_FILES}" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARG_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
