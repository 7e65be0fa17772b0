#include "command_queue.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/eventfd.h>
#include <utility>

namespace weir::run_control {

CommandQueue::CommandQueue(std::chrono::milliseconds patience)
    : patience_(patience), asked_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!asked_.is_open())
    throw std::runtime_error(std::string("no descriptor for the page's commands: ") + std::strerror(errno));
}

std::string CommandQueue::ask(v1::Request request) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->request = std::move(request);
  std::future<std::string> answer = waiting->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kWaitingMax) return "too many commands are waiting: try again";
    waiting_.push_back(waiting);
  }
  (void)::eventfd_write(asked_.get(), 1);
  if (answer.wait_for(patience_) == std::future_status::ready) return answer.get();
  if (give_up(waiting)) return "run control does not answer: check its log";
  if (answer.wait_for(patience_) == std::future_status::ready) return answer.get();
  return "run control accepted the command but did not report its result: check its log";
}

bool CommandQueue::give_up(const std::shared_ptr<Waiting>& waiting) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, waiting) > 0;
}

std::shared_ptr<CommandQueue::Waiting> CommandQueue::next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  std::shared_ptr<Waiting> waiting = std::move(waiting_.front());
  WEIR_ASSERT(waiting_.size() <= kWaitingMax && waiting != nullptr);
  waiting_.pop_front();
  return waiting;
}

// One by one: those behind a slow one may be given up meanwhile. No more than wait at a time: it ends.
void CommandQueue::answer(const std::function<std::string(const v1::Request&)>& carry_out) {
  eventfd_t none = 0;
  (void)::eventfd_read(asked_.get(), &none);
  for (std::size_t i = 0; i < kWaitingMax; ++i) {
    const std::shared_ptr<Waiting> waiting = next();
    if (!waiting) return;
    waiting->answer.set_value(carry_out(waiting->request));
  }
}

}  // namespace weir::run_control
