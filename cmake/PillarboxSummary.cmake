# SPDX-License-Identifier: Apache-2.0
message(STATUS "Pillarbox ${PROJECT_VERSION}")
foreach(part IN ITEMS SQLITE POSTGRESQL HTTP)
  if(PILLARBOX_WITH_${part})
    message(STATUS "  ${part}: in")
  else()
    message(STATUS "  ${part}: left out (PILLARBOX_WITH_${part}=OFF)")
  endif()
endforeach()
