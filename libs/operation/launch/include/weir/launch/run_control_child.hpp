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

// The run control of one run, as a child process: started, connected to, and restarted with its previous
// state when it dies. The state is in a file that is removed with this object.
class RunControlChild {
 public:
  enum class State : std::uint8_t {
    absent,    // not started
    starting,  // its address is not known yet
    there,
    waits,  // for its restart
    ended
  };

  struct Settings {
    ControlChildSettings child;
    std::string memory;       // file
    std::string keys_folder;  // control.keys
    std::string host = {};    // host for connections to it; empty: its listening address
    bool may_move = false;    // to a free port of 127.0.0.1, if its address cannot be used
  };
  // `wake` is called on another thread.
  RunControlChild(Settings settings, std::function<void()> wake);
  ~RunControlChild();
  RunControlChild(const RunControlChild&) = delete;
  RunControlChild& operator=(const RunControlChild&) = delete;

  // Returns an error, or an empty string.
  [[nodiscard]] std::string start();
  // Chooses a free port of 127.0.0.1 for the next start. Returns false if it has listened already, or may not
  // move.
  [[nodiscard]] bool moves();
  // Returns its end, once.
  [[nodiscard]] std::optional<ProcessEnd> poll();
  // Schedules a restart. Returns false if it has died too often.
  [[nodiscard]] bool start_again(TimeNs now);
  // Returns true if it was restarted now.
  [[nodiscard]] Expected<bool, std::string> start_due(TimeNs now);
  // Returns its address, once, as soon as it has printed it. Errors: its key cannot be read.
  [[nodiscard]] Expected<std::optional<ControlPlace>, std::string> found();

  // Returns the host:port for connections, once found() has returned it.
  [[nodiscard]] const std::string& asked_at() const { return asked_at_; }
  void ask(const v1::Request& request);
  // Returns its messages: replies, and the run's end.
  [[nodiscard]] std::vector<v1::BusMessage> heard();
  void send_signal(int signal) const { child_.send_signal(signal); }
  // Closes the connection: no more requests.
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
