// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/store_suite.h"

#include <stdexcept>

namespace pillarbox::testing {
namespace {

constexpr int kClaimsMax = 10'000;

}  // namespace

NewMessage StoreSuite::message(std::string job_type, std::string ordering_key) {
  NewMessage message;
  message.job_type = std::move(job_type);
  message.payload = R"({"order":17})";
  message.ordering_key = std::move(ordering_key);
  return message;
}

std::vector<MessageId> StoreSuite::enqueue_many(std::size_t count, const NewMessage& like) {
  std::vector<MessageId> ids;
  const auto producer = outbox().producer();
  producer->begin();
  for (std::size_t i = 0; i < count; ++i) {
    NewMessage message = like;
    message.payload = std::to_string(i);
    ids.push_back(producer->enqueue(message));
  }
  producer->commit();
  return ids;
}

std::vector<ClaimedMessage> StoreSuite::claim_all(Store& by, const ClaimRequest& request) {
  ClaimRequest sweeping = request;
  sweeping.sweep = true;
  std::vector<ClaimedMessage> all;
  for (int i = 0; i < kClaimsMax; ++i) {
    ClaimResult result = by.claim(sweeping);
    for (ClaimedMessage& message : result.messages) all.push_back(std::move(message));
    if (result.messages.empty() && !result.more) return all;
  }
  ADD_FAILURE() << "claims never came to an end";
  return all;
}

ClaimedMessage StoreSuite::claim_one(Store& by) {
  std::vector<ClaimedMessage> all = claim_all(by);
  if (all.size() != 1)
    throw std::runtime_error("one message should be due, but it is " + std::to_string(all.size()));
  return std::move(all.front());
}

ClaimedMessage StoreSuite::dead_message(const NewMessage& message, KeyPolicy policy) {
  ClaimedMessage claimed_message = claimed(message);
  EXPECT_TRUE(settle(dead(claimed_message.lease, policy)));
  return claimed_message;
}

RowId StoreSuite::id_of(MessageId message_id) {
  const auto id = admin().find(message_id);
  if (!id) throw std::runtime_error("message " + message_id.to_string() + " is not there");
  return *id;
}

MessageDetail StoreSuite::show(RowId id) {
  auto detail = admin().show(id, true);
  if (!detail) throw std::runtime_error("row " + std::to_string(to_int(id)) + " is not there");
  return std::move(*detail);
}

std::vector<std::string> StoreSuite::outcomes(RowId id) {
  std::vector<std::string> words;
  for (const AttemptRow& attempt : show(id).attempts) words.push_back(attempt.outcome);
  return words;
}

std::size_t StoreSuite::count(const Filter& filter) {
  return admin().list(filter, {.limit = 500}).rows.size();
}

ActResult StoreSuite::replay(RowId id) {
  const ActTarget one = target(id);
  return admin().replay(std::span(&one, 1), "ada", "the sink was mended");
}

ActResult StoreSuite::discard(RowId id) {
  const ActTarget one = target(id);
  return admin().discard(std::span(&one, 1), "ada", "the order was cancelled");
}

Millis StoreSuite::ahead(DbTime time) {
  const std::chrono::microseconds by(to_int(time) - to_int(admin().overview().now));
  return std::chrono::duration_cast<Millis>(by);
}

std::vector<MessageId> ids(const std::vector<ClaimedMessage>& messages) {
  std::vector<MessageId> out;
  for (const ClaimedMessage& message : messages) out.push_back(message.message_id);
  return out;
}

std::vector<std::string> payloads(const std::vector<ClaimedMessage>& messages) {
  std::vector<std::string> out;
  for (const ClaimedMessage& message : messages) out.push_back(message.payload);
  return out;
}

std::set<MessageId> as_set(const std::vector<MessageId>& ids) { return {ids.begin(), ids.end()}; }

bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorKind::internal, "PBX-0000", "nothing was refused"};
}

}  // namespace pillarbox::testing
