// SPDX-License-Identifier: Apache-2.0
#include "sink/http/http_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pillarbox/error.h"
#include "sink/http/factory.h"
#include "sink/http/http_sink.h"

namespace pillarbox::http {
namespace {

class FixedSecret final : public Secret {
 public:
  explicit FixedSecret(std::string value) : value_(std::move(value)) {}
  std::string read() const override { return value_; }
  std::string where() const override { return "a test"; }

 private:
  std::string value_;
};

SinkSettings settings(std::string url, std::map<std::string, std::string> sink = {}) {
  return {.name = "partner", .outbox = "shop", .url = std::move(url), .sink = std::move(sink)};
}

std::string refusal(const SinkSettings& given) {
  try {
    make_factory()->check(given);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_input);
    return std::string(e.code()) + " " + e.what();
  }
  return "";
}

TEST(HttpConfig, HasTheDocumentedDefaults) {
  const HttpConfig config = read_config(settings("https://partner.example/hooks"));
  EXPECT_EQ(config.format, Format::raw);
  EXPECT_EQ(config.connections, 16U);
  EXPECT_EQ(config.connect_timeout, Millis{10'000});
  EXPECT_FALSE(config.allows_private_addresses);
  EXPECT_FALSE(config.signs);
  EXPECT_TRUE(config.proxy.empty());
  EXPECT_EQ(config.source, "pillarbox/shop");
  EXPECT_EQ(config.endpoint, "partner.example:443");
}

TEST(HttpConfig, TakesCredentialsOutOfTheUrl) {
  const HttpConfig config = read_config(settings("https://us%40er:p%3Aw@h.example:8443/x?y=1#z"));
  EXPECT_EQ(config.url, "https://h.example:8443/x?y=1");
  EXPECT_EQ(config.endpoint, "h.example:8443");
  EXPECT_EQ(config.user, "us@er");
  EXPECT_EQ(config.url_password, "p:w");
  EXPECT_EQ(authorization_of(config), "Basic dXNAZXI6cDp3");
}

TEST(HttpConfig, AuthorizesByBasicWithAUserAndByBearerWithout) {
  SinkSettings given = settings("https://h.example/");
  EXPECT_EQ(authorization_of(read_config(given)), "");
  given.password = std::make_shared<FixedSecret>("token-1\n");
  EXPECT_EQ(authorization_of(read_config(given)), "Bearer token-1");
  given.url = "https://Aladdin@h.example/";
  given.password = std::make_shared<FixedSecret>("open sesame");
  EXPECT_EQ(authorization_of(read_config(given)), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST(HttpConfig, RefusesUrlsThatAreNoHttpAddress) {
  for (const char* url : {"", "https://", "http://h:99999/", "http://a b/", "ftp://h/",
                          "https:", "http://h\r\nX: 1/", "http://[::1/"}) {
    EXPECT_THAT(refusal(settings(url)), testing::StartsWith("PBX-5003 sink.partner.url")) << url;
  }
  EXPECT_THAT(refusal(settings("ftp://user:hunter2@h/")),
              testing::Not(testing::HasSubstr("hunter2")));
}

TEST(HttpConfig, RefusesSettingsThatContradictEachOther) {
  SinkSettings given = settings("https://h.example/", {{"sign", "standard-webhooks"}});
  EXPECT_THAT(refusal(given), testing::HasSubstr("sink.partner.secrets is missing"));
  given = settings("https://h.example/");
  given.secrets = {std::make_shared<FixedSecret>("whsec_AAAA")};
  EXPECT_THAT(refusal(given), testing::HasSubstr("sink.partner.sign"));
  EXPECT_THAT(refusal(settings("https://h.example/", {{"proxy", "http://proxy:3128"}})),
              testing::HasSubstr("allow_private_addresses = true"));
  EXPECT_THAT(refusal(settings("https://h.example/", {{"source", "two words"}})),
              testing::HasSubstr("sink.partner.source"));
  EXPECT_THAT(refusal(settings("https://h.example/", {{"connections", "0"}})),
              testing::HasSubstr("1 to 1000"));
}

// Whatever the spelling, `config check` says at once what a delivery would be refused for.
TEST(HttpConfig, RefusesUrlsThatNameAPrivateAddressUnlessAllowed) {
  for (const char* host : {"127.0.0.1", "localhost", "a.localhost", "2130706433", "0x7f000001",
                           "0177.0.0.1", "127.1", "10.1.2.3", "169.254.169.254", "[::1]",
                           "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]", "0.0.0.0"}) {
    const std::string url = std::string("http://") + host + "/";
    EXPECT_THAT(refusal(settings(url)), testing::HasSubstr("allow_private_addresses")) << url;
    EXPECT_EQ(refusal(settings(url, {{"allow_private_addresses", "true"}})), "") << url;
  }
  EXPECT_EQ(refusal(settings("http://1.1.1.1/")), "");
  EXPECT_EQ(refusal(settings("http://[2606:4700:4700::1111]/")), "");
}

TEST(HttpConfig, EverySettingHasAHelpAndADefaultThatItsOwnCheckTakes) {
  for (const SinkSetting& setting : http_settings()) {
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    SinkSettings given = settings("https://h.example/");
    auto& place = setting.place == SinkSetting::Place::sink ? given.sink : given.route;
    place[std::string(setting.name)] = setting.default_value;
    EXPECT_EQ(refusal(given), "") << setting.name;
  }
}

}  // namespace
}  // namespace pillarbox::http
