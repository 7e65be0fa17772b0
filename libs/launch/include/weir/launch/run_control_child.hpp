#pragma once

#include <weir/base/expected.hpp>
#include <weir/bus/client.hpp>
#include <weir/launch/child.hpp>
#include <weir/launch/control_process.hpp>
#include <weir/launch/restarts.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::launch {

// The run control of one run, as a child: started, asked, and when it dies started again where it was. What
// it remembers is in a file that is gone with this object.
class RunControlChild {
 public:
  enum class State : std::uint8_t {
    absent,    // not started
    starting,  // where it listens is not known
    there,
    waits,  // for the time when it is started again
    ended
  };

  struct Settings {
    ControlChildSettings child;
    std::string memory;       // file
    std::string keys_folder;  // control.keys
    std::string host = {};    // it is asked at this host; empty: where it listens
  };
  // `wake` is called on another thread.
  RunControlChild(Settings settings, std::function<void()> wake);
  ~RunControlChild();
  RunControlChild(const RunControlChild&) = delete;
  RunControlChild& operator=(const RunControlChild&) = delete;

  // The error is a sentence.
  [[nodiscard]] std::string start();
  // Its end, once.
  [[nodiscard]] std::optional<ProcessEnd> poll();
  // Will start it again; false: it has died too often.
  [[nodiscard]] bool start_again(TimeNs now);
  // True: it was started again.
  [[nodiscard]] Expected<bool, std::string> start_due(TimeNs now);
  // Where it listens, once, as soon as it has said so. The error is a sentence: its key cannot be read.
  [[nodiscard]] Expected<std::optional<ControlPlace>, std::string> found();

  // host:port of where it is asked, once it is found().
  [[nodiscard]] const std::string& asked_at() const { return asked_at_; }
  void ask(const v1::Request& request);
  // What it has said: replies, and the run's end.
  [[nodiscard]] std::vector<v1::BusMessage> heard();
  void send_signal(int signal) const { child_.send_signal(signal); }
  // Nothing is asked any more.
  void let_go() { client_.reset(); }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool running() const { return child_.running(); }
  // "run control ended with signal 9 (Killed)"
  [[nodiscard]] std::string story(const ProcessEnd& end) const;

 private:
  Settings settings_;
  std::string asked_at_;
  std::function<void()> wake_;
  Restarts restarts_;
  State state_ = State::absent;
  TimeNs start_at_ns_ = 0;
  Child child_;
  std::string output_;
  std::unique_ptr<bus::Client> client_;
};

}  // namespace weir::launch
