#include "wishes.hpp"

#include <algorithm>
#include <utility>

namespace weir::run_control {

std::string Wishes::ask(v1::Request request) {
  const auto wish = std::make_shared<Wish>();
  wish->request = std::move(request);
  std::future<std::string> answer = wish->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kWishesMax) return "too many commands wait: try again";
    waiting_.push_back(wish);
  }
  if (answer.wait_for(patience_) == std::future_status::ready) return answer.get();
  if (give_up(wish)) return "run control does not answer: look at its log";
  if (answer.wait_for(patience_) == std::future_status::ready) return answer.get();
  return "run control has taken the command, and does not say how it ends: look at its log";
}

bool Wishes::give_up(const std::shared_ptr<Wish>& wish) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, wish) > 0;
}

std::shared_ptr<Wishes::Wish> Wishes::next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  std::shared_ptr<Wish> wish = std::move(waiting_.front());
  waiting_.pop_front();
  return wish;
}

// One by one: those behind a slow one may be given up meanwhile. No more than wait at a time: it ends.
void Wishes::answer(const std::function<std::string(const v1::Request&)>& carry_out) {
  for (std::size_t i = 0; i < kWishesMax; ++i) {
    const std::shared_ptr<Wish> wish = next();
    if (!wish) return;
    wish->answer.set_value(carry_out(wish->request));
  }
}

}  // namespace weir::run_control
