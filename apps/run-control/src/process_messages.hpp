#pragma once

#include "parts.hpp"
#include <weir/bus/hub.hpp>
#include <weir/v1/bus.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::run_control {

// Handles the processes' messages: join, heartbeat, answer, end of run, leave.
class ProcessMessages {
 public:
  // Ports to which a joining process publishes, and from which others subscribe.
  struct Ports {
    std::uint16_t publish = 0;
    std::uint16_t subscribe = 0;
  };
  ProcessMessages(Parts& parts, Ports ports, Orders::Send send)
      : parts_(parts), ports_(ports), send_(std::move(send)) {}

  // `from` has a key that permits processes; messages that processes do not send are ignored.
  void take(const bus::Sender& from, const v1::BusMessage& message);
  void refuse(const bus::Sender& from, const std::string& why);

 private:
  void join(const bus::Sender& from, const v1::Join& join);
  void heartbeat(std::size_t member, const v1::Heartbeat& heartbeat);
  void answer(std::size_t member, const bus::Sender& from, const v1::Answer& answer);
  void note_part_in_run(std::size_t member, const v1::Answer& answer);
  void run_over(const bus::Sender& from, const v1::RunOver& over);
  void note_death(std::size_t member);
  void note_removed_kinds(const v1::RunOver& over);
  [[nodiscard]] bool is_held(std::size_t member, const bus::Sender& from, const v1::Join& join) const;
  void send_home(std::size_t member);
  // Where the other nodes reach the supervisor of the run that is on. False: this is not its process.
  bool note_supervisor(const v1::MemberState& state, const bus::Sender& from);

  Parts& parts_;
  Ports ports_;
  Orders::Send send_;
};

}  // namespace weir::run_control
