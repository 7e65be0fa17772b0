#include "text_trigger_client.hpp"

#include <algorithm>
#include <span>

namespace weir::sim {
namespace {

constexpr DurationNs kRetry = 20 * kMillisecond;
constexpr std::uint32_t kAgainPermille = 200;
constexpr std::size_t kUnansweredMax = 50;
constexpr std::uint64_t kRemembered = 4096;  // numbers of a client
constexpr std::string_view kTaken = "taken ";

}  // namespace

TextTriggerClient::TextTriggerClient(simnet::World& world, const Scenario& scenario,
                                     const ports::Endpoint& supervisor,
                                     std::function<void(const std::string&)> fail)
    : host_(world.add_host("text triggers")),
      scenario_(scenario),
      fail_(std::move(fail)),
      random_(scenario.seed ^ 0x74657874),
      supervisor_(supervisor),
      every_ns_(std::max<DurationNs>(kMillisecond / 4,
                                     scenario.faults_end_ns / static_cast<DurationNs>(scenario.slices + 1))) {
  host_.boot([this](TimeNs now_ns) { pass(now_ns); }, [this] { return next_ns_; });
}

TextTriggerClient::~TextTriggerClient() {
  host_.crash(simnet::Death::process);
  stream_.reset();
}

void TextTriggerClient::pass(TimeNs now_ns) {
  if (now_ns < next_ns_) return;
  if (!stream_) {
    next_ns_ = now_ns + kRetry;
    stream_ = host_.connect(supervisor_, *this);
    return;
  }
  next_ns_ = now_ns + every_ns_;
  if (unanswered_.size() >= kUnansweredMax) return;
  if (!again_.empty()) {
    offer(again_.front());
    return again_.pop_front();
  }
  const bool repeats = made_ > 0 && random_.chance(kAgainPermille);
  offer(repeats ? 1 + random_.below(made_) : ++made_);
}

void TextTriggerClient::offer(std::uint64_t number) {
  unanswered_.push_back(number);
  const std::string line = "trigger client=sim session=1 n=" + std::to_string(number) + "\n";
  stream_->append(std::as_bytes(std::span(line)));
}

bool TextTriggerClient::on_received(std::size_t bytes) {
  received_.append(reinterpret_cast<const char*>(space_.data()), bytes);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = received_.find('\n', begin)) != received_.npos; begin = end + 1)
    take(std::string_view(received_).substr(begin, end - begin));
  received_.erase(0, begin);
  return true;
}

void TextTriggerClient::take(std::string_view line) {
  if (unanswered_.empty()) return fail_("an answer without a request: " + std::string(line));
  const std::uint64_t number = unanswered_.front();
  unanswered_.pop_front();
  const std::string end = " n=" + std::to_string(number) + " session=1";
  if (!line.ends_with(end))
    return fail_("the answer to trigger " + std::to_string(number) + " is " + std::string(line));
  const std::string answer(line.substr(0, line.size() - end.size()));
  if (answer == "busy not_running") return;  // before the run nothing is journaled
  if (answer.starts_with("error old") && number + kRemembered <= made_) return;
  const auto [known, fresh] = answers_.emplace(number, answer);
  if (known->second != answer)
    return fail_("trigger " + std::to_string(number) + " has two answers: " + known->second + ", " + answer);
  if (fresh && answer.starts_with(kTaken) && !slices_.insert(answer).second)
    fail_("two triggers have one slice: " + answer);
}

void TextTriggerClient::on_closed(ports::CloseReason) {
  stream_.reset();
  received_.clear();
  again_.insert(again_.end(), unanswered_.begin(), unanswered_.end());
  unanswered_.clear();
}

}  // namespace weir::sim
