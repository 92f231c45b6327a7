// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pillarbox::core {

// Chance, with distributions of its own: those of the standard library differ from one library to
// the next, and a simulation must come out the same everywhere.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;

  // Uniform in [0, bound); 0 for bound 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    if (bound == 0) return 0;
    // Lemire's multiplication, without the rejection step: its bias is below 2^-32 for bounds below
    // 2^32.
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(next()) * bound) >> 64U);
  }
};

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, passes BigCrush.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace pillarbox::core
