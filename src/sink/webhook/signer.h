// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/handle.h"
#include "pillarbox/webhook.h"

namespace pillarbox::webhook {

using MacContext = core::Handle<EVP_MAC_CTX, &EVP_MAC_CTX_free>;
using PrivateOrPublicKey = core::Handle<EVP_PKEY, &EVP_PKEY_free>;

// One parsed key: exactly one of the two is set.
struct Key {
  MacContext mac;           // keyed for HMAC-SHA256
  PrivateOrPublicKey pkey;  // Ed25519
};

enum class KeyUse { sign, verify };

// Throws Error(invalid_input, PBX-5001), which does not show the key. Signing takes "whsec_" and
// "whsk_"; verifying also "whpk_". Space around the key, as a file's last line feed, is ignored.
[[nodiscard]] Key parse_key(std::string_view text, KeyUse use);

// Raw bytes; nullopt for anything that is no base64 (RFC 4648 section 4), padded or not.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

// Signs with a list of keys that were parsed once. One thread at a time.
class Signer {
 public:
  explicit Signer(const std::vector<std::string>& keys);

  // The value of webhook-signature for `<id>.<timestamp>.<body>`, one signature for each key in the
  // keys' order.
  [[nodiscard]] std::string sign(std::string_view id, std::string_view timestamp,
                                 std::string_view body);

 private:
  std::vector<Key> keys_;
  std::string content_;
};

// HMAC-SHA256 of the concatenated parts.
[[nodiscard]] std::string hmac_sha256(EVP_MAC_CTX* keyed, std::span<const std::string_view> parts);

}  // namespace pillarbox::webhook
