#include "gate.hpp"

#include <weir/base/assert.hpp>

#include <utility>

namespace weir::page {
namespace {

constexpr DurationNs kMinute = 60 * kSecond;
constexpr std::size_t kPeersMax = 1024;
constexpr const char* kEverybodyElse = "";  // shared by further addresses once kPeersMax are known

}  // namespace

bool same_secret(std::string_view secret, std::string_view given) {
  unsigned differ = secret.size() == given.size() && !secret.empty() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char mine = secret.empty() ? '\0' : secret[i % secret.size()];
    differ |= static_cast<unsigned>(static_cast<unsigned char>(mine) ^ static_cast<unsigned char>(given[i]));
  }
  return differ == 0;
}

Gate::Refused& Gate::of_peer(const std::string& peer, TimeNs now_ns) {
  if (refused_.size() >= kPeersMax)
    std::erase_if(refused_, [&](const auto& one) { return now_ns - one.second.since_ns >= kMinute; });
  const bool known = refused_.contains(peer);
  Refused& refused = refused_[known || refused_.size() < kPeersMax ? peer : kEverybodyElse];
  if (now_ns - refused.since_ns >= kMinute || refused.count == 0) refused = {now_ns, 0};
  return refused;
}

Gate::Gate(std::string token, unsigned refused_per_minute_max, std::vector<Person> people)
    : people_(std::move(people)), refused_max_(refused_per_minute_max) {
  if (!token.empty()) people_.push_back({"", PersonRole::expert, std::move(token)});
}

// All tokens are compared, so the time does not tell which one was right.
const Person* Gate::person_of(std::string_view authorization) const {
  constexpr std::string_view kBearer = "Bearer ";
  const bool bearer = authorization.starts_with(kBearer);
  const std::string_view given = bearer ? authorization.substr(kBearer.size()) : std::string_view();
  const Person* found = nullptr;
  for (const Person& one : people_) {
    if (same_secret(one.token, given)) found = &one;
  }
  return found;
}

Gate::Answer Gate::ask(std::string_view authorization, const std::string& peer, TimeNs now_ns) {
  if (people_.empty()) return Answer::no_token_set;
  if (person_of(authorization) != nullptr) return Answer::open;
  Refused& refused = of_peer(peer, now_ns);
  if (refused.count >= refused_max_) return Answer::rate_limited;
  WEIR_ASSERT(refused_.size() <= kPeersMax + 1);  // the last one is shared
  ++refused.count;
  return Answer::unauthorised;
}

}  // namespace weir::page
