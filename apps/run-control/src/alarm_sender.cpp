#include "alarm_sender.hpp"

#include <weir/base/text.hpp>
#include <weir/child_process/child_parts.hpp>
#include <weir/child_process/lifted_descriptor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::size_t kErrorBytes = 4096;  // of a child's standard error
constexpr std::size_t kErrorShown = 300;
constexpr int kTimedOut = 124;  // exit statuses of `timeout`,
constexpr int kKilled = 137;
constexpr int kNotFound = 127;  // and of it and shells

Expected<AlarmChild, std::string> child_of(const AlarmLetter& letter) {
  if (letter.way.kind == config::AlarmWay::Kind::command) return command_child(letter);
  const auto file = read_secret(letter.way.what);
  if (!file) return Unexpected<std::string>(file.error());
  return letter.way.kind == config::AlarmWay::Kind::mail ? mail_child(letter, *file)
                                                         : webhook_child(letter, *file);
}

// The last line that it wrote.
std::string last_line(ConstBytes written) {
  std::string_view text(reinterpret_cast<const char*>(written.data()), written.size());
  text = text.substr(0, text.find('\0'));
  while (text.ends_with('\n')) text.remove_suffix(1);
  return clean_text(text.substr(text.rfind('\n') + 1), kErrorShown);
}

std::string failure_of(int status, ConstBytes written, const AlarmLetter& letter) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kKilled;
  const std::string said = last_line(written);
  if (code == kTimedOut || code == kKilled)
    return fmt::format("no answer within {} s", letter.way.seconds_max);
  if (code == kNotFound && letter.way.kind != config::AlarmWay::Kind::command)
    return "curl is not installed: `apt-get install curl`";
  return said.empty() ? fmt::format("exit status {}", code) : said;
}

std::string deliver(const AlarmLetter& letter) {
  const auto child = child_of(letter);
  if (!child) return child.error();
  const OwnedDescriptor input = child_process::sealed_file("weir-alarm-input", child->input);
  const OwnedDescriptor body = child_process::sealed_file("weir-alarm-body", child->body);
  const OwnedDescriptor none =
      child_process::lifted(OwnedDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  child_process::SharedFile errors;
  if (!input.is_open() || !body.is_open() || !none.is_open() ||
      !errors.open("weir-alarm-error", kErrorBytes) || ::lseek(input.get(), 0, SEEK_SET) != 0)
    return std::string("no memory for the message: ") + std::strerror(errno);
  child_process::Beginning beginning;
  beginning.pass_on(input.get(), STDIN_FILENO);
  beginning.pass_on(none.get(), STDOUT_FILENO);
  beginning.pass_on(errors.descriptor(), STDERR_FILENO);
  beginning.pass_on(body.get(), STDERR_FILENO + 1);
  pid_t pid = 0;
  if (const int error = beginning.start(child->command, "WEIR_ALARM=1", pid); error != 0)
    return std::string("cannot start a process: ") + std::strerror(error);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return std::string("cannot wait for its process: ") + std::strerror(errno);
  }
  return failure_of(status, errors.bytes(), letter);
}

}  // namespace

struct AlarmSender::Shared {
  std::mutex mutex;
  std::vector<AlarmOutcome> outcomes;

  void add(AlarmOutcome outcome) {
    const std::lock_guard lock(mutex);
    outcomes.push_back(std::move(outcome));
  }
};

AlarmSender::AlarmSender() : shared_(std::make_shared<Shared>()) {}
AlarmSender::~AlarmSender() = default;

void AlarmSender::send(AlarmLetter letter) {
  const std::uint64_t serial = letter.serial;
  try {
    std::thread([shared = shared_, letter = std::move(letter)] {
      shared->add({letter.serial, deliver(letter)});
    }).detach();
  } catch (const std::system_error& error) {
    shared_->add({serial, std::string("cannot start a thread: ") + error.what()});
  }
}

std::vector<AlarmOutcome> AlarmSender::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->outcomes, {});
}

}  // namespace weir::run_control
