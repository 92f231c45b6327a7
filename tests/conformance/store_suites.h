// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/conformance/store_suite.h"

// Every suite for stores, by theme; the tests are in store_<theme>.cc. A runner for a store is a
// StoreFixture and one line:
//
//   PILLARBOX_RUN_STORE_SUITES(SQLite, ::testing::Values(StoreParam{"file", make_fixture}));
//
// linked with the CMake object library pillarbox_store_suite. A test reads
// "SQLite/StoreSettle.LeavesALeaseAloneThatSomebodyElseHolds/file".
namespace pillarbox::testing {

class StoreClaim : public StoreSuite {};
class StoreLease : public StoreSuite {};
class StoreSettle : public StoreSuite {};
class StoreKeys : public StoreSuite {};
class StoreFairness : public StoreSuite {};
class StoreDead : public StoreSuite {};
class StoreOperate : public StoreSuite {};
class StoreBrake : public StoreSuite {};
class StorePurge : public StoreSuite {};
class StoreProducer : public StoreSuite {};
class StorePayload : public StoreSuite {};
class StoreRefusal : public StoreSuite {};
class StoreInbox : public StoreSuite {};
class StoreList : public StoreSuite {};
class StoreOverview : public StoreSuite {};
class StoreRelays : public StoreSuite {};
class StoreThreads : public StoreSuite {};
class StoreTampered : public StoreSuite {};
class StoreBroken : public StoreSuite {};
class StoreWake : public StoreSuite {};
class StoreSchema : public StoreSuite {};

inline std::string store_param_name(const ::testing::TestParamInfo<StoreParam>& info) {
  return info.param.name;
}

}  // namespace pillarbox::testing

#define PILLARBOX_RUN_STORE_SUITE_(Name, Suite, params) \
  INSTANTIATE_TEST_SUITE_P(Name, Suite, params, ::pillarbox::testing::store_param_name)

// To be used inside namespace pillarbox::testing.
#define PILLARBOX_RUN_STORE_SUITES(Name, params)           \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreClaim, params);    \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreLease, params);    \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreSettle, params);   \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreKeys, params);     \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreFairness, params); \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreDead, params);     \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreOperate, params);  \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreBrake, params);    \
  PILLARBOX_RUN_STORE_SUITE_(Name, StorePurge, params);    \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreProducer, params); \
  PILLARBOX_RUN_STORE_SUITE_(Name, StorePayload, params);  \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreRefusal, params);  \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreInbox, params);    \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreList, params);     \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreOverview, params); \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreRelays, params);   \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreThreads, params);  \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreTampered, params); \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreBroken, params);   \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreWake, params);     \
  PILLARBOX_RUN_STORE_SUITE_(Name, StoreSchema, params)
