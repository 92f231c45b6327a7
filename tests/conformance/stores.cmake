# SPDX-License-Identifier: Apache-2.0
# One suite for all stores, as an object library: a runner is a fixture and one line (store_suites.h).
# Each database's runner is described in store_<database>.cmake.
add_library(pillarbox_store_suite OBJECT
  store_suite.cc store_brake.cc store_claim.cc store_dead.cc store_fairness.cc store_inbox.cc
  store_keys.cc store_lease.cc store_list.cc store_operate.cc store_payload.cc store_producer.cc
  store_purge.cc store_refusal.cc store_relays.cc store_settle.cc store_tampered.cc
  store_threads.cc)
target_include_directories(pillarbox_store_suite PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(pillarbox_store_suite PUBLIC pillarbox_core pillarbox_json pillarbox_system
  GTest::gtest PRIVATE pillarbox_flags)

pillarbox_test(store_memory_conformance_test SOURCES store_memory_test.cc
  DEPENDS pillarbox_store_suite pillarbox_store_memory LABELS conformance)
foreach(database IN ITEMS sqlite postgresql)
  if(TARGET pillarbox_store_${database})
    include(${CMAKE_CURRENT_LIST_DIR}/store_${database}.cmake OPTIONAL)
  endif()
endforeach()
