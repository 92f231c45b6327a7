// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

// Standard Webhooks 1.0.0 signatures (https://www.standardwebhooks.com): sign and verify. Pure
// functions, thread-safe.
namespace pillarbox::webhook {

struct SignedHeaders {
  std::string id;         // webhook-id
  std::string timestamp;  // webhook-timestamp, seconds since 1970
  std::string signature;  // webhook-signature: one for each key, separated by a space
};

// keys: "whsec_" + base64 (HMAC-SHA256, "v1,") or "whsk_" + base64 (Ed25519 private key, "v1a,"). A
// key without prefix is read as symmetric base64. Throws Error(invalid_input, PBX-5001) for a key
// that cannot be used; the text does not show it.
[[nodiscard]] SignedHeaders sign(std::string_view id, std::chrono::sys_seconds at,
                                 std::string_view body, const std::vector<std::string>& keys);

enum class Verdict { valid, bad_signature, too_old, too_new, malformed };

// Checks the raw body against all given keys ("whsec_…" or "whpk_…" for Ed25519 public keys), in
// constant time.
[[nodiscard]] Verdict verify(const SignedHeaders& headers, std::string_view raw_body,
                             const std::vector<std::string>& keys, std::chrono::sys_seconds now,
                             std::chrono::seconds tolerance = std::chrono::minutes(5));

}  // namespace pillarbox::webhook
