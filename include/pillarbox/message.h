// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pillarbox {

using Millis = std::chrono::milliseconds;

// The outbox row's own number: 64 bits, generated, rising at insert. Unique in one outbox, never
// reused.
enum class RowId : std::int64_t {};
constexpr std::int64_t to_int(RowId id) noexcept { return static_cast<std::int64_t>(id); }

// A moment by the database's clock: microseconds since 1970-01-01T00:00:00Z. It is shown and
// ordered, never joined with the relay's monotonic time: leases and due times are compared in SQL
// only.
enum class DbTime : std::int64_t {};
constexpr std::int64_t to_int(DbTime time) noexcept { return static_cast<std::int64_t>(time); }

// A message's identity towards producers and consumers: a UUID (RFC 9562), version 7 when made
// here. Value type.
class MessageId {
 public:
  MessageId() = default;  // the nil UUID
  explicit MessageId(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // The 36-character form, any case; nullopt for anything else.
  [[nodiscard]] static std::optional<MessageId> parse(std::string_view text) noexcept;

  // A new version 7 UUID: wall-clock milliseconds, then a counter that keeps ids of one process
  // rising, then random bits of the operating system. Thread-safe.
  [[nodiscard]] static MessageId make();

  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string to_string() const;  // lower case, with dashes

  friend auto operator<=>(const MessageId&, const MessageId&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

// Names are compared as bytes and kept in the given order; values are any UTF-8 without NUL.
using Headers = std::vector<std::pair<std::string, std::string>>;

// What every store accepts. The same numbers stand in the SQL of each database.
struct Limits {
  static constexpr std::size_t kJobTypeChars = 200;
  static constexpr std::size_t kCorrelationIdChars = 64;
  static constexpr std::size_t kOrderingKeyChars = 200;
  static constexpr std::size_t kContentTypeChars = 100;
  static constexpr std::size_t kHeadersBytes = 32 * 1024;  // as JSON text
  static constexpr std::size_t kPayloadBytes = 16 * 1024 * 1024;
  static constexpr Millis kDelayMax = std::chrono::hours(24 * 3660);
};

// A message as a producer states it. Everything but job_type has a sensible default.
struct NewMessage {
  std::string
      job_type;  // logical and versioned: "email.partner-verification.v1", never a class name
  std::string payload = "null";
  std::string content_type = "application/json";  // says what the payload's bytes are
  Headers headers = {};
  std::optional<MessageId> message_id =
      {};  // made when absent; repeat it to repeat the enqueue safely
  std::string correlation_id = {};
  std::string ordering_key = {};          // empty: no order is promised
  Millis delay{0};                        // not before this long from now, by the database's clock
  std::optional<Millis> expires_in = {};  // past it the message dies as `expired` without delivery
};

// Throws Error(invalid_input, PBX-10nn) that names the field, its size and the limit. No I/O: it
// runs before any SQL, so the caller's transaction stays usable. Checks: lengths in characters,
// UTF-8, NUL and control characters, payload size, and that the payload is JSON (RFC 8259) when
// content_type is application/json or ends in +json.
void validate(const NewMessage& message);

// A claim on one message. claim_no is the fencing number: it rises by one with every claim of the
// row and is never used twice, so a late settle of an older claim changes nothing.
struct Lease {
  RowId id{};
  std::int64_t claim_no = 0;

  friend auto operator<=>(const Lease&, const Lease&) = default;
};

// A message under our lease, as a sink sees it.
struct ClaimedMessage {
  Lease lease;
  MessageId message_id;
  std::string job_type;
  std::string payload;  // the enqueued bytes, never re-serialised
  std::string content_type;
  Headers headers;
  std::string correlation_id;  // empty when absent
  std::string ordering_key;    // empty when absent
  DbTime occurred_at{};
  DbTime available_at{};
  std::int32_t attempts = 0;  // this one included
  std::int32_t life = 0;      // rises at each replay
  bool reclaimed = false;     // an earlier holder let its lease run out
  bool expired = false;       // expires_at has passed, by the database's clock
  std::string defect;         // not empty: the row was edited by hand and cannot be understood; why
};

}  // namespace pillarbox
