#pragma once

#include <initializer_list>
#include <optional>

namespace weir::transport {

// Collects signals of the process, in a pipe that can be waited on. Several inboxes may receive the same
// signal; the last one to leave restores its default action. A signal that this process ignores stays
// ignored.
class SignalInbox {
 public:
  explicit SignalInbox(std::initializer_list<int> signals);
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable while there are signals to take.
  [[nodiscard]] int descriptor() const;
  // Returns the next signal in order of arrival; nullopt: none.
  [[nodiscard]] std::optional<int> take();

 private:
  std::size_t box_;
};

}  // namespace weir::transport
