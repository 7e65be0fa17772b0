#include <weir/assignment/answered_triggers.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {

AnsweredTriggers::Found AnsweredTriggers::find(const TriggerNumber& number, OfferResult& answer) const {
  WEIR_ASSERT(number.number > 0);
  const auto found = clients_.find(number.client);
  if (found == clients_.end()) return clients_.size() < kClientsMax ? Found::fresh : Found::full;
  const Client& client = found->second;
  if (number.session != client.session) return number.session > client.session ? Found::fresh : Found::old;
  if (client.highest >= kNumbersMax && number.number <= client.highest - kNumbersMax) return Found::old;
  const Slot& slot = client.slots[number.number % kNumbersMax];
  if (slot.number != number.number) return Found::fresh;
  answer = slot.answer;
  return Found::answered;
}

void AnsweredTriggers::add(const TriggerNumber& number, const OfferResult& answer) {
  OfferResult none;
  WEIR_ASSERT(find(number, none) == Found::fresh);
  auto found = clients_.find(number.client);
  if (found == clients_.end()) found = clients_.emplace(number.client, Client{}).first;
  Client& client = found->second;
  if (client.slots.empty() || number.session != client.session) {
    client.session = number.session;
    client.highest = 0;
    client.slots.assign(kNumbersMax, Slot{});
  }
  client.highest = std::max(client.highest, number.number);
  Slot& slot = client.slots[number.number % kNumbersMax];
  WEIR_ASSERT(slot.number < number.number);
  slot = {number.number, answer};
}

std::vector<NumberedAnswer> AnsweredTriggers::state() const {
  std::vector<NumberedAnswer> all;
  for (const auto& [name, client] : clients_) {
    const std::size_t begin = all.size();
    for (const Slot& slot : client.slots) {
      const bool remembered = client.highest < kNumbersMax || slot.number > client.highest - kNumbersMax;
      if (slot.number != 0 && remembered) all.push_back({name, client.session, slot.number, slot.answer});
    }
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
              [](const NumberedAnswer& a, const NumberedAnswer& b) { return a.number < b.number; });
  }
  return all;
}

}  // namespace weir::assignment
