#pragma once

#include <weir/base/time.hpp>
#include <weir/page/people.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::page {

// Admits requests with an operator's token, even while others guess from the same address, because not every
// request of a browser is its operator's. Wrong tokens are counted by address; beyond a number per minute,
// all wrong ones get 429 for the rest of the minute. The token's length keeps it from being guessed. Not
// thread-safe; the time is an argument.
class Gate {
 public:
  enum class Answer : std::uint8_t {
    open,
    no_token_set,  // no commands are accepted
    unauthorised,  // no token, or a wrong one
    rate_limited
  };

  // `token`: of an expert without a name; empty: none.
  Gate(std::string token, unsigned refused_per_minute_max, std::vector<Person> people = {});

  // `authorization`: the header's text, "Bearer TOKEN".
  [[nodiscard]] Answer ask(std::string_view authorization, const std::string& peer, TimeNs now_ns);
  [[nodiscard]] bool has_token() const { return !people_.empty(); }
  // Returns the owner of the token; null: unknown.
  [[nodiscard]] const Person* person_of(std::string_view authorization) const;

 private:
  struct Refused {
    TimeNs since_ns = 0;
    unsigned count = 0;
  };
  [[nodiscard]] Refused& of_peer(const std::string& peer, TimeNs now_ns);

  std::vector<Person> people_;
  unsigned refused_max_;
  std::map<std::string, Refused> refused_;
};

// Compares in a time that depends only on the length of `given`.
[[nodiscard]] bool same_secret(std::string_view secret, std::string_view given);

}  // namespace weir::page
