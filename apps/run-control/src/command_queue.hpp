#pragma once

#include <weir/base/owned_descriptor.hpp>
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

// Queue of operators' requests from the web page's thread to run control's. An abandoned request is never
// carried out, so the operator may repeat it.
class CommandQueue {
 public:
  // Throws std::runtime_error if the system gives no descriptor.
  explicit CommandQueue(std::chrono::milliseconds patience);

  // Page's thread: waits for the answer, an error message; empty: accepted. Refused beyond kWaitingMax
  // waiting requests, and after `patience` without an answer. A request that is then being carried out is
  // waited for once more.
  [[nodiscard]] std::string ask(v1::Request request);
  // Run control's thread, each turn: answers waiting requests with `carry_out`.
  void answer(const std::function<std::string(const v1::Request&)>& carry_out);
  // Readable from a request until the next answer().
  [[nodiscard]] int descriptor() const { return asked_.get(); }

  static constexpr std::size_t kWaitingMax = 16;

 private:
  struct Waiting {
    v1::Request request;
    std::promise<std::string> answer;
  };
  [[nodiscard]] std::shared_ptr<Waiting> next();
  [[nodiscard]] bool give_up(const std::shared_ptr<Waiting>& waiting);  // false: it is being carried out

  std::chrono::milliseconds patience_;
  OwnedDescriptor asked_;  // an eventfd
  std::mutex mutex_;
  std::deque<std::shared_ptr<Waiting>> waiting_;
};

}  // namespace weir::run_control
