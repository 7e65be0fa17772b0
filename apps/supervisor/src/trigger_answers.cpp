#include "trigger_answers.hpp"

#include <utility>

namespace weir::supervisor {

void TriggerAnswers::add(sessions::Peer& client, v1::Control answer) {
  Waiting& waiting = waiting_[&client];
  waiting.client = &client;
  waiting.bytes += answer.ByteSizeLong();
  waiting.answers.push_back(std::move(answer));
}

void TriggerAnswers::send() {
  for (const auto& [client, waiting] : std::exchange(waiting_, {})) {
    for (const v1::Control& answer : waiting.answers) waiting.client->send(answer);
  }
}

std::size_t TriggerAnswers::bytes_for(const sessions::Peer& client) const {
  const auto found = waiting_.find(&client);
  return found == waiting_.end() ? 0 : found->second.bytes;
}

}  // namespace weir::supervisor
