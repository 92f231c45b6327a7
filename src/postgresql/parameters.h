// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pillarbox/message.h"

namespace pillarbox::postgresql {

// Type oids, from the server's pg_type.dat; they never change.
inline constexpr unsigned kBool = 16;
inline constexpr unsigned kBytea = 17;
inline constexpr unsigned kInt8 = 20;
inline constexpr unsigned kInt2 = 21;
inline constexpr unsigned kInt4 = 23;
inline constexpr unsigned kText = 25;
inline constexpr unsigned kUuid = 2950;
inline constexpr unsigned kInt2Array = 1005;
inline constexpr unsigned kTextArray = 1009;
inline constexpr unsigned kInt8Array = 1016;
inline constexpr unsigned kByteaArray = 1001;
inline constexpr unsigned kUuidArray = 2951;
inline constexpr unsigned kTimestamptz = 1184;

// Parameters of one statement in PostgreSQL's binary format. Views given to text() and bytes() must
// live until it was sent.
//
// Not copyable: values_ points into owned_, whose elements keep their addresses when moved and not
// when copied.
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;
  Parameters(Parameters&&) = default;
  Parameters& operator=(Parameters&&) = default;

  Parameters& null(unsigned type);
  Parameters& boolean(bool value);
  Parameters& int4(std::int32_t value);
  Parameters& int8(std::int64_t value);
  Parameters& time(std::optional<DbTime> value);  // nullopt: -infinity
  Parameters& text(std::string_view value);
  Parameters& text_or_null(std::string_view value) {
    return value.empty() ? null(kText) : text(value);
  }
  Parameters& bytes(std::string_view value);
  Parameters& uuid(const MessageId& value);
  Parameters& int2_array(std::span<const std::int16_t> values);
  Parameters& int8_array(std::span<const std::int64_t> values);
  Parameters& text_array(std::span<const std::string_view> values);
  Parameters& text_array(std::span<const std::string> values);
  Parameters& bytes_array(std::span<const std::string_view> values);
  Parameters& uuid_array(std::span<const MessageId> values);
  Parameters& nullable_int8_array(std::span<const std::optional<std::int64_t>> values);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(values_.size()); }
  [[nodiscard]] const unsigned* types() const noexcept { return types_.data(); }
  [[nodiscard]] const char* const* values() const noexcept { return values_.data(); }
  [[nodiscard]] const int* lengths() const noexcept { return lengths_.data(); }
  [[nodiscard]] const int* formats() const noexcept { return formats_.data(); }

 private:
  Parameters& add(unsigned type, const char* value, std::size_t size);
  Parameters& add_owned(unsigned type, std::string value);

  std::deque<std::string> owned_;  // a deque, so that addresses hold
  std::vector<unsigned> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace pillarbox::postgresql
