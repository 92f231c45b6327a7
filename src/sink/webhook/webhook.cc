// SPDX-License-Identifier: Apache-2.0
#include "pillarbox/webhook.h"

#include <openssl/crypto.h>

#include <array>
#include <charconv>

#include "pillarbox/error.h"
#include "sink/webhook/signer.h"

namespace pillarbox::webhook {
namespace {

constexpr std::size_t kSignaturesMax = 32;  // a request must not buy unlimited work
constexpr std::size_t kTimestampDigitsMax = 12;

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  if (text.empty() || text.size() > kTimestampDigitsMax) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct Signature {
  bool is_symmetric = false;
  std::string bytes;
};

// The signatures of versions that are known. Others may come from a newer sender and are ignored.
std::vector<Signature> parse_signatures(std::string_view header) {
  std::vector<Signature> out;
  while (!header.empty() && out.size() < kSignaturesMax) {
    const std::string_view one = header.substr(0, header.find(' '));
    header.remove_prefix(one.size() == header.size() ? one.size() : one.size() + 1);
    const auto comma = one.find(',');
    if (comma == std::string_view::npos) continue;
    const std::string_view version = one.substr(0, comma);
    if (version != "v1" && version != "v1a") continue;
    if (auto bytes = decode_base64(one.substr(comma + 1))) {
      out.push_back(Signature{version == "v1", std::move(*bytes)});
    }
  }
  return out;
}

bool matches(const Key& key, const Signature& signature, std::string_view content) {
  if (static_cast<bool>(key.mac) != signature.is_symmetric) return false;
  if (key.mac) {
    const std::array<std::string_view, 1> parts = {content};
    const std::string expected = hmac_sha256(key.mac.get(), parts);
    return expected.size() == signature.bytes.size() &&
           CRYPTO_memcmp(expected.data(), signature.bytes.data(), expected.size()) == 0;
  }
  const core::Handle<EVP_MD_CTX, &EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.pkey.get()) == 1 &&
         EVP_DigestVerify(
             context.get(), reinterpret_cast<const unsigned char*>(signature.bytes.data()),
             signature.bytes.size(), reinterpret_cast<const unsigned char*>(content.data()),
             content.size()) == 1;
}

}  // namespace

SignedHeaders sign(std::string_view id, std::chrono::sys_seconds at, std::string_view body,
                   const std::vector<std::string>& keys) {
  if (keys.empty()) {
    throw Error(ErrorKind::invalid_input, "PBX-5001",
                "a webhook cannot be signed without a key; give at least one");
  }
  SignedHeaders headers{.id = std::string(id),
                        .timestamp = std::to_string(at.time_since_epoch().count())};
  headers.signature = Signer(keys).sign(headers.id, headers.timestamp, body);
  return headers;
}

Verdict verify(const SignedHeaders& headers, std::string_view raw_body,
               const std::vector<std::string>& keys, std::chrono::sys_seconds now,
               std::chrono::seconds tolerance) {
  const auto timestamp = parse_timestamp(headers.timestamp);
  const std::vector<Signature> signatures = parse_signatures(headers.signature);
  // With a dot in the id, one signed text could be read as two different requests.
  const bool has_plain_id = !headers.id.empty() && headers.id.find('.') == std::string::npos;
  if (!timestamp || signatures.empty() || !has_plain_id) return Verdict::malformed;

  const std::chrono::sys_seconds at{std::chrono::seconds{*timestamp}};
  if (at < now - tolerance) return Verdict::too_old;
  if (at > now + tolerance) return Verdict::too_new;

  const std::string content = headers.id + "." + headers.timestamp + "." + std::string(raw_body);
  bool is_valid = false;
  for (const std::string& text : keys) {
    const Key key = parse_key(text, KeyUse::verify);
    // No early way out: which key matched must not show in the time taken.
    for (const Signature& signature : signatures) {
      is_valid = matches(key, signature, content) || is_valid;
    }
  }
  return is_valid ? Verdict::valid : Verdict::bad_signature;
}

}  // namespace pillarbox::webhook
