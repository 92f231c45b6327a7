// SPDX-License-Identifier: Apache-2.0
#include "postgresql/location.h"

#include <gtest/gtest.h>

#include "pillarbox/error.h"

namespace pillarbox::postgresql {
namespace {

TEST(PostgresqlUrl, KeepsOurParametersAndHandsOnTheRest) {
  const Location l = read_location(
      "postgresql://app@db:5433/shop?sslmode=verify-full&schema=mail&prepared=false&service=x");
  EXPECT_EQ(l.url, "postgresql://app@db:5433/shop?sslmode=verify-full&service=x");
  EXPECT_EQ(l.listen_url, l.url);
  EXPECT_EQ(l.schema, "mail");
  EXPECT_FALSE(l.prepared);
}

TEST(PostgresqlUrl, HasDefaults) {
  const Location l = read_location("postgres:///shop");
  EXPECT_EQ(l.url, "postgres:///shop");
  EXPECT_EQ(l.schema, "pillarbox");
  EXPECT_TRUE(l.prepared);
}

TEST(PostgresqlUrl, NamesAnotherAddressForListen) {
  EXPECT_EQ(read_location("postgresql://app:s%40c@pool:6432/shop?listen=db:5432&sslmode=require")
                .listen_url,
            "postgresql://app:s%40c@db:5432/shop?sslmode=require");
  EXPECT_EQ(read_location("postgresql://pool/shop?listen=/run/pg").listen_url,
            "postgresql://%2Frun%2Fpg/shop");
  EXPECT_EQ(read_location("postgresql://pool/shop?listen=none").listen_url, "");
}

TEST(PostgresqlUrl, TakesAListOfHosts) {
  const Location l = read_location("postgresql://app@a:1,b:2/shop");
  EXPECT_EQ(l.url, "postgresql://app@a:1,b:2/shop");
}

TEST(PostgresqlUrl, IsRefusedWithoutShowingThePassword) {
  for (const char* url :
       {"postgresql://app:geheim@db/shop?schema=Mail", "postgresql://app:geheim@db/shop?schema=a-b",
        "postgresql://app:geheim@db/shop?schema=", "postgresql://app:geheim@db/shop?prepared=1"}) {
    try {
      static_cast<void>(read_location(url));
      ADD_FAILURE() << url;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
      EXPECT_EQ(error.code(), "PBX-2010");
      EXPECT_EQ(std::string(error.what()).find("geheim"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace pillarbox::postgresql
