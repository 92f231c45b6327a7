// SPDX-License-Identifier: Apache-2.0
#include "postgresql/parameters.h"

#include <limits>

namespace pillarbox::postgresql {
namespace {

template <class Integer>
void append_big_endian(std::string& out, Integer value) {
  auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  char bytes[sizeof(Integer)];
  for (std::size_t i = sizeof(Integer); i-- > 0;) {
    bytes[i] = static_cast<char>(bits & 0xFFU);
    bits = static_cast<std::make_unsigned_t<Integer>>(bits >> (sizeof(Integer) > 1 ? 8U : 0U));
  }
  out.append(bytes, sizeof bytes);
}

// The wire form of a one-dimensional array (array_recv).
std::string array_head(unsigned element_type, std::size_t count, bool has_null = false) {
  std::string out;
  append_big_endian<std::int32_t>(out, count == 0 ? 0 : 1);
  append_big_endian<std::int32_t>(out, has_null ? 1 : 0);
  append_big_endian<std::uint32_t>(out, element_type);
  if (count > 0) {
    append_big_endian<std::int32_t>(out, static_cast<std::int32_t>(count));
    append_big_endian<std::int32_t>(out, 1);
  }
  return out;
}

void append_element(std::string& out, std::string_view value) {
  append_big_endian<std::int32_t>(out, static_cast<std::int32_t>(value.size()));
  out += value;
}

template <class Strings>
std::string string_array(unsigned element_type, const Strings& values) {
  std::string out = array_head(element_type, values.size());
  for (const auto& value : values) append_element(out, value);
  return out;
}

std::string_view as_bytes(const MessageId& id) {
  return {reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()};
}

}  // namespace

Parameters& Parameters::add(unsigned type, const char* value, std::size_t size) {
  types_.push_back(type);
  values_.push_back(value);
  lengths_.push_back(static_cast<int>(size));
  formats_.push_back(1);
  return *this;
}

Parameters& Parameters::add_owned(unsigned type, std::string value) {
  owned_.push_back(std::move(value));
  return add(type, owned_.back().data(), owned_.back().size());
}

Parameters& Parameters::null(unsigned type) { return add(type, nullptr, 0); }
Parameters& Parameters::boolean(bool value) {
  return add_owned(kBool, std::string(1, value ? '\1' : '\0'));
}

Parameters& Parameters::int4(std::int32_t value) {
  std::string out;
  append_big_endian(out, value);
  return add_owned(kInt4, std::move(out));
}

Parameters& Parameters::int8(std::int64_t value) {
  std::string out;
  append_big_endian(out, value);
  return add_owned(kInt8, std::move(out));
}

Parameters& Parameters::time(std::optional<DbTime> value) {
  constexpr std::int64_t kEpoch2000 = 946'684'800'000'000;  // the server counts from 2000-01-01
  std::string out;
  append_big_endian(out,
                    value ? to_int(*value) - kEpoch2000 : std::numeric_limits<std::int64_t>::min());
  return add_owned(kTimestamptz, std::move(out));
}

// An empty string_view may have no address, and a null pointer would mean NULL.
Parameters& Parameters::text(std::string_view value) {
  return add(kText, value.empty() ? "" : value.data(), value.size());
}
Parameters& Parameters::bytes(std::string_view value) {
  return add(kBytea, value.empty() ? "" : value.data(), value.size());
}
Parameters& Parameters::uuid(const MessageId& value) {
  return add_owned(kUuid, std::string(as_bytes(value)));
}

Parameters& Parameters::int2_array(std::span<const std::int16_t> values) {
  std::string out = array_head(kInt2, values.size());
  for (const std::int16_t value : values) {
    append_big_endian<std::int32_t>(out, 2);
    append_big_endian(out, value);
  }
  return add_owned(kInt2Array, std::move(out));
}

Parameters& Parameters::int8_array(std::span<const std::int64_t> values) {
  std::string out = array_head(kInt8, values.size());
  out.reserve(out.size() + 12 * values.size());
  for (const std::int64_t value : values) {
    append_big_endian<std::int32_t>(out, 8);
    append_big_endian(out, value);
  }
  return add_owned(kInt8Array, std::move(out));
}

Parameters& Parameters::nullable_int8_array(std::span<const std::optional<std::int64_t>> values) {
  std::string out = array_head(kInt8, values.size(), true);
  for (const auto& value : values) {
    append_big_endian<std::int32_t>(out, value ? 8 : -1);
    if (value) append_big_endian(out, *value);
  }
  return add_owned(kInt8Array, std::move(out));
}

Parameters& Parameters::text_array(std::span<const std::string_view> values) {
  return add_owned(kTextArray, string_array(kText, values));
}
Parameters& Parameters::text_array(std::span<const std::string> values) {
  return add_owned(kTextArray, string_array(kText, values));
}
Parameters& Parameters::bytes_array(std::span<const std::string_view> values) {
  return add_owned(kByteaArray, string_array(kBytea, values));
}
Parameters& Parameters::uuid_array(std::span<const MessageId> values) {
  std::string out = array_head(kUuid, values.size());
  for (const MessageId& value : values) append_element(out, as_bytes(value));
  return add_owned(kUuidArray, std::move(out));
}

}  // namespace pillarbox::postgresql
