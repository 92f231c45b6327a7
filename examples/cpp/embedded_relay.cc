// SPDX-License-Identifier: Apache-2.0
// embedded_relay STORE: delivers what is due in the store to a function of this process, then ends.
//   embedded_relay sqlite:app.db
#include <pillarbox/error.h>
#include <pillarbox/relay.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: embedded_relay STORE\n", stderr);
    return 2;
  }
  // [relay
  pillarbox::OutboxSettings outbox;
  outbox.name = "shop";
  outbox.store.url = argv[1];

  pillarbox::SinkDefinition mail;
  mail.name = "mail";
  mail.url = "handler:mail";

  pillarbox::RouteSettings route;
  route.name = "mail";
  route.type = "email.*";
  route.sink = "mail";

  pillarbox::RelaySettings settings;
  settings.outboxes.push_back(std::move(outbox));
  settings.sinks.push_back(std::move(mail));
  settings.routes.push_back(std::move(route));
  // relay]

  // Called on a worker's thread. It may be called twice for one message (the process may die before
  // the outcome is written), so a real one asks an inbox first: pillarbox::sqlite::once().
  const pillarbox::Handler send_mail = [](const pillarbox::ClaimedMessage& message) {
    std::printf("%s %s %s\n", message.message_id.to_string().c_str(), message.job_type.c_str(),
                message.payload.c_str());
    return pillarbox::Outcome::delivered();
  };

  try {
    pillarbox::Relay relay(std::move(settings), {{"mail", send_mail}});
    relay.start();
    const bool drained = relay.wait_until_idle(std::chrono::seconds(30));
    relay.stop();
    return drained ? 0 : 1;
  } catch (const pillarbox::Error& error) {
    std::fprintf(stderr, "%s %s\n", std::string(error.code()).c_str(), error.what());
    return 1;
  }
}
