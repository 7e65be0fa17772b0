#pragma once

#include <weir/v1/bus.pb.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>

namespace weir::run_control {

// What operators want at the page, handed from its thread to run control's. A wish that was given up is never
// carried out: whoever was told that it failed may make it again.
class Wishes {
 public:
  explicit Wishes(std::chrono::milliseconds patience) : patience_(patience) {}

  // The page's thread: waits for the answer, an error; empty: it is taken. Beyond kWishesMax, and those that
  // nobody looks at in `patience`, are refused. One that is being carried out by then is waited for once
  // more.
  [[nodiscard]] std::string ask(v1::Request request);
  // Run control's thread, each turn: `carry_out` answers those that wait.
  void answer(const std::function<std::string(const v1::Request&)>& carry_out);

  static constexpr std::size_t kWishesMax = 16;

 private:
  struct Wish {
    v1::Request request;
    std::promise<std::string> answer;
  };
  [[nodiscard]] std::shared_ptr<Wish> next();
  [[nodiscard]] bool give_up(const std::shared_ptr<Wish>& wish);  // false: it is being carried out

  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Wish>> waiting_;
};

}  // namespace weir::run_control
