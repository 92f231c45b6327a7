// SPDX-License-Identifier: Apache-2.0
#include "sink/webhook/signer.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include <array>
#include <cstdint>

#include "core/assert.h"
#include "pillarbox/error.h"

namespace pillarbox::webhook {
namespace {

constexpr std::size_t kEd25519KeyBytes = 32;
constexpr std::size_t kEd25519SignatureBytes = 64;
constexpr std::size_t kSha256Bytes = 32;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::invalid_input, "PBX-5001", "a webhook key cannot be used: " + why);
}

[[noreturn]] void crypto_failed(const char* what) {
  throw Error(ErrorKind::internal, "PBX-5006",
              std::string("OpenSSL could not ") + what + "; check its installation with openssl");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Fetched once: a fetch takes a lock and a search through the providers.
EVP_MAC* hmac() {
  static EVP_MAC* const kFetched = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  if (kFetched == nullptr) crypto_failed("find HMAC");
  return kFetched;
}

MacContext keyed_hmac(std::string_view key) {
  MacContext context(EVP_MAC_CTX_new(hmac()));
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  if (!context || EVP_MAC_init(context.get(), bytes_of(key), key.size(), parameters.data()) != 1) {
    crypto_failed("set up HMAC-SHA256");
  }
  return context;
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock ends with a NUL
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(bytes),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string ed25519(EVP_PKEY* key, std::string_view content) {
  const core::Handle<EVP_MD_CTX, &EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  std::string signature(kEd25519SignatureBytes, '\0');
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(content), content.size()) != 1 ||
      size != signature.size()) {
    crypto_failed("sign with Ed25519");
  }
  return signature;
}

struct Wiped {
  std::string bytes;
  ~Wiped() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.ends_with('=')) text.remove_suffix(1);
  if (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    std::uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return std::nullopt;
    }
    bits = (bits << 6U) | value;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
    }
  }
  return out;
}

Key parse_key(std::string_view text, KeyUse use) {
  text = trimmed(text);
  const auto take = [&](std::string_view prefix) {
    const bool has = text.starts_with(prefix);
    if (has) text.remove_prefix(prefix.size());
    return has;
  };
  const bool is_private = take("whsk_");
  const bool is_public = !is_private && take("whpk_");
  if (!is_private && !is_public) take("whsec_");

  const std::optional<std::string> decoded = decode_base64(text);
  if (!decoded) refuse("what follows its prefix is not base64");
  const Wiped raw{*decoded};
  if (raw.bytes.empty()) refuse("it is empty");

  Key key;
  if (is_private) {
    // The second half of the 64-byte form is the public key, which OpenSSL computes itself.
    if (raw.bytes.size() != kEd25519KeyBytes && raw.bytes.size() != 2 * kEd25519KeyBytes) {
      refuse("an Ed25519 private key (whsk_) has 32 or 64 bytes, this has " +
             std::to_string(raw.bytes.size()));
    }
    key.pkey.reset(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(raw.bytes),
                                                kEd25519KeyBytes));
    if (!key.pkey) refuse("OpenSSL does not take it as an Ed25519 private key");
  } else if (is_public) {
    if (use == KeyUse::sign)
      refuse("a public key (whpk_) cannot sign; give the private one (whsk_)");
    if (raw.bytes.size() != kEd25519KeyBytes) {
      refuse("an Ed25519 public key (whpk_) has 32 bytes, this has " +
             std::to_string(raw.bytes.size()));
    }
    key.pkey.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(raw.bytes),
                                               kEd25519KeyBytes));
    if (!key.pkey) refuse("OpenSSL does not take it as an Ed25519 public key");
  } else {
    key.mac = keyed_hmac(raw.bytes);
  }
  return key;
}

std::string hmac_sha256(EVP_MAC_CTX* keyed, std::span<const std::string_view> parts) {
  std::string out(kSha256Bytes, '\0');
  std::size_t size = 0;
  bool done = EVP_MAC_init(keyed, nullptr, 0, nullptr) == 1;  // same key, new message
  for (const std::string_view part : parts) {
    done = done && EVP_MAC_update(keyed, bytes_of(part), part.size()) == 1;
  }
  if (!done ||
      EVP_MAC_final(keyed, reinterpret_cast<unsigned char*>(out.data()), &size, out.size()) != 1) {
    crypto_failed("compute HMAC-SHA256");
  }
  PILLARBOX_ASSERT(size == out.size());
  return out;
}

Signer::Signer(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) keys_.push_back(parse_key(key, KeyUse::sign));
}

std::string Signer::sign(std::string_view id, std::string_view timestamp, std::string_view body) {
  const std::array<std::string_view, 5> parts = {id, ".", timestamp, ".", body};
  std::string out;
  for (const Key& key : keys_) {
    if (!out.empty()) out += ' ';
    if (key.mac) {
      out += "v1," + encode_base64(hmac_sha256(key.mac.get(), parts));
      continue;
    }
    content_.clear();  // Ed25519 takes its message in one piece
    for (const std::string_view part : parts) content_ += part;
    out += "v1a," + encode_base64(ed25519(key.pkey.get(), content_));
  }
  return out;
}

}  // namespace pillarbox::webhook
