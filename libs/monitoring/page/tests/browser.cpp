#include "browser.hpp"

#include <boost/json.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::page::test {
namespace {

namespace json = boost::json;

constexpr int kPatienceMs = 20'000;
constexpr int kToBrowser = 3;  // the descriptors of Chromium's pipe
constexpr int kFromBrowser = 4;

std::string text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// Chromium itself, for all browsers of a test's process: its start takes longer than most tests.
class Chromium {
 public:
  static Chromium& here() {
    static Chromium one;
    return one;
  }
  // Sends a command and returns its result; `session`: of a page, or empty. Errors of the page's scripts are
  // appended to `errors`.
  json::object call(const std::string& session, const std::string& method, json::object parameters,
                    std::vector<std::string>* errors);

 private:
  Chromium();
  ~Chromium();
  json::object read();
  [[nodiscard]] std::string last_words() const;

  std::string profile_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  int next_ = 1;
  std::string received_;
};

Chromium::Chromium()
    : profile_((std::filesystem::temp_directory_path() / ("weir-browser-" + std::to_string(::getpid())))
                   .string()) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
  const std::string program = chromium();
  const std::string profile = "--user-data-dir=" + profile_;
  // Its temporary files are removed with the profile.
  std::filesystem::create_directories(profile_);
  ::setenv("TMPDIR", profile_.c_str(), 1);
  const std::string said = profile_ + "/stderr";
  std::array<const char*, 9> arguments = {
      program.c_str(), "--headless",     "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
      profile.c_str(), "--no-first-run", "about:blank",  nullptr};
  pid_ = ::fork();
  if (pid_ == 0) {
    constexpr int kOutOfTheWay = 20;
    const int in = ::fcntl(to[0], F_DUPFD, kOutOfTheWay);
    const int out = ::fcntl(from[1], F_DUPFD, kOutOfTheWay);
    ::dup2(::open(said.c_str(), O_RDWR | O_CREAT, 0600), STDERR_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::dup2(in, kToBrowser);
    ::dup2(out, kFromBrowser);
    ::setpgid(0, 0);
    ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
}

Chromium::~Chromium() {
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::close(to_);
  ::close(from_);
  std::error_code ignored;
  std::filesystem::remove_all(profile_, ignored);
}

std::string Chromium::last_words() const {
  std::ifstream file(profile_ + "/stderr");
  std::string last;
  for (std::string line; std::getline(file, line);) last = line;
  return last;
}

json::object Chromium::read() {
  std::size_t end = received_.find('\0');
  while (end == received_.npos) {
    pollfd one{from_, POLLIN, 0};
    std::array<char, 65536> piece{};
    if (::poll(&one, 1, kPatienceMs) <= 0) throw std::runtime_error("the browser says nothing");
    const ssize_t got = ::read(from_, piece.data(), piece.size());
    if (got <= 0) throw std::runtime_error("the browser has ended: " + last_words());
    received_.append(piece.data(), static_cast<std::size_t>(got));
    end = received_.find('\0');
  }
  json::object message = json::parse(received_.substr(0, end)).as_object();
  received_.erase(0, end + 1);
  return message;
}

json::object Chromium::call(const std::string& session, const std::string& method, json::object parameters,
                            std::vector<std::string>* errors) {
  const int id = next_++;
  json::object message{{"id", id}, {"method", method}, {"params", std::move(parameters)}};
  if (!session.empty()) message["sessionId"] = session;
  const std::string line = json::serialize(message) + '\0';
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::runtime_error("the browser does not listen: " + last_words());
  while (true) {
    json::object answer = read();
    const bool thrown = answer.contains("method") && answer.at("method") == "Runtime.exceptionThrown";
    if (thrown && errors != nullptr && answer.contains("sessionId") &&
        text(answer.at("sessionId")) == session)
      errors->push_back(json::serialize(answer.at("params")));
    if (!answer.contains("id") || answer.at("id") != id) continue;
    if (answer.contains("error"))
      throw std::runtime_error(method + ": " + json::serialize(answer.at("error")));
    return answer.at("result").as_object();
  }
}

}  // namespace

std::string chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome",
                           "/usr/local/bin/chromium", "/snap/bin/chromium"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

Browser::Browser() {
  context_ = text(call("Target.createBrowserContext").at("browserContextId"));
  const std::string target = text(
      call("Target.createTarget", {{"url", "about:blank"}, {"browserContextId", context_}}).at("targetId"));
  session_ = text(call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}).at("sessionId"));
  call("Page.enable");
  call("Runtime.enable");
  call("Page.bringToFront");
}

Browser::~Browser() {
  session_.clear();
  try {
    call("Target.disposeBrowserContext", {{"browserContextId", context_}});
  } catch (const std::runtime_error&) {  // the browser has ended, and the test says so
  }
}

json::object Browser::call(const std::string& method, json::object parameters) {
  return Chromium::here().call(session_, method, std::move(parameters), &errors_);
}

void Browser::size(int width, int height, bool phone) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", phone}});
}

void Browser::dark(bool is_dark) {
  call("Emulation.setEmulatedMedia",
       {{"features",
         boost::json::array{{{"name", "prefers-color-scheme"}, {"value", is_dark ? "dark" : "light"}}}}});
}

void Browser::less_motion() {
  call("Emulation.setEmulatedMedia",
       {{"features", boost::json::array{{{"name", "prefers-reduced-motion"}, {"value", "reduce"}}}}});
}

void Browser::vision(const std::string& deficiency) {
  call("Emulation.setEmulatedVisionDeficiency", {{"type", deficiency}});
}

std::string Browser::picture() { return text(call("Page.captureScreenshot").at("data")); }

void Browser::go(const std::string& url) { call("Page.navigate", {{"url", url}}); }

std::string Browser::value(const std::string& expression) {
  const json::object answer =
      call("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  const json::object& result = answer.at("result").as_object();
  return result.contains("value") ? text(result.at("value")) : json::serialize(answer);
}

bool Browser::eventually(const std::string& expression) {
  const std::string wait =
      "(async () => { for (let i = 0; i < 160; ++i) { try { if (" + expression +
      ") return 'yes'; } catch (error) {} await new Promise((go) => setTimeout(go, 50)); } "
      "return 'no'; })()";
  try {
    return value(wait) == "yes";
  } catch (const std::runtime_error&) {  // a navigation was under way, and has ended the wait
    return value(wait) == "yes";
  }
}

void Browser::press(const std::string& key) {
  static const std::map<std::string, int> kCodes = {{"Tab", 9},        {"Enter", 13},      {"Escape", 27},
                                                    {"ArrowLeft", 37}, {"ArrowRight", 39}, {"ArrowDown", 40}};
  const int code = kCodes.at(key);
  json::object down{{"type", "keyDown"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}};
  if (key == "Enter") down["text"] = "\r";
  call("Input.dispatchKeyEvent", down);
  call("Input.dispatchKeyEvent",
       {{"type", "keyUp"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}});
}

void Browser::type(const std::string& text) { call("Input.insertText", {{"text", text}}); }

}  // namespace weir::page::test
