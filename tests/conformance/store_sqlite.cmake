# SPDX-License-Identifier: Apache-2.0
pillarbox_test(store_sqlite_conformance_test SOURCES sqlite_runner.cc
  DEPENDS pillarbox_store_suite pillarbox_store_sqlite LABELS conformance)
