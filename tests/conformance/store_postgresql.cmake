# SPDX-License-Identifier: Apache-2.0
# They want the servers of scripts/services, and tell the tests that did not run by name.
pillarbox_test(store_postgresql_conformance_test
  SOURCES postgresql_runner.cc postgresql_fixture.cc
  DEPENDS pillarbox_store_suite pillarbox_store_postgresql LABELS conformance needs-postgresql
  TIMEOUT 900)
pillarbox_test(postgresql_test
  SOURCES postgresql_test.cc postgresql_fixture.cc postgresql_enqueue_test.cc
    postgresql_plan_test.cc postgresql_roles_test.cc postgresql_session_test.cc
  DEPENDS pillarbox_store_postgresql LABELS conformance needs-postgresql TIMEOUT 600)
target_compile_definitions(postgresql_test PRIVATE PILLARBOX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
pillarbox_test(hangfire_test
  SOURCES hangfire_test.cc postgresql_fixture.cc
  DEPENDS pillarbox_sink_hangfire pillarbox_store_postgresql LABELS conformance needs-postgresql)
