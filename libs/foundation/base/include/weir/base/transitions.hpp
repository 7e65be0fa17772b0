#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace weir {

template <class State>
struct Transition {
  State from;
  State to;
};

// The transitions allowed between states, from a list of all of them. State: an enum that counts from 0, with
// at most 32 states. A constexpr list with a repeated transition, or with a state beyond 32, does not
// compile. Pure.
template <class State, std::size_t kCount>
class Transitions {
 public:
  // Throws std::logic_error if the list is wrong.
  constexpr explicit Transitions(const Transition<State> (&all)[kCount]) {
    for (std::size_t i = 0; i < kCount; ++i) {
      std::uint32_t& followers = followers_.at(static_cast<std::size_t>(all[i].from));
      const auto to = static_cast<std::size_t>(all[i].to);
      if (to >= kStatesMax || (followers >> to & 1U) != 0)
        throw std::invalid_argument("a repeated transition, or a state beyond the last");
      followers |= 1U << to;
      all_[i] = all[i];
    }
  }

  [[nodiscard]] constexpr bool allow(State from, State to) const {
    return (followers_[static_cast<std::size_t>(from)] >> static_cast<std::size_t>(to) & 1U) != 0;
  }
  [[nodiscard]] constexpr const Transition<State>* begin() const { return all_.data(); }
  [[nodiscard]] constexpr const Transition<State>* end() const { return all_.data() + kCount; }

 private:
  static constexpr std::size_t kStatesMax = 32;

  std::array<Transition<State>, kCount> all_{};
  std::array<std::uint32_t, kStatesMax> followers_{};  // by state: one bit for each allowed successor
};

}  // namespace weir
