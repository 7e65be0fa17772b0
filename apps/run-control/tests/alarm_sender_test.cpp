// Letters to real receivers on loopback: a mail server and a web hook that are there, dead, slow, or refuse.
#include "../src/alarm_sender.hpp"

#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/base/scratch_folder.hpp>

#include <arpa/inet.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::Matchers::ContainsSubstring;

namespace {

bool no_curl() {
  if (std::system("command -v curl >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1") == 0) return false;
  weir::skip_test("no curl here; apt-get install curl");
  return true;
}

sockaddr_in at_loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

// Listens on loopback and serves one connection in a thread.
class AlarmReceiver {
 public:
  enum class Kind : std::uint8_t { mail, web };
  enum class Mood : std::uint8_t { good, refuses, silent, dead };

  explicit AlarmReceiver(Kind kind, Mood mood = Mood::good) : kind_(kind) {
    listener_ = OwnedDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at = at_loopback(0);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    socklen_t length = sizeof at;
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
    port_ = ntohs(at.sin_port);
    if (mood != Mood::dead) serve(mood);
  }
  ~AlarmReceiver() { close(); }
  AlarmReceiver(const AlarmReceiver&) = delete;
  AlarmReceiver& operator=(const AlarmReceiver&) = delete;

  // From now on a dead one listens at its port.
  void revive() { serve(Mood::good); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Ends the connection and returns what arrived.
  std::string close() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    return received_;
  }

 private:
  void serve(Mood mood) {
    REQUIRE(::listen(listener_.get(), 4) == 0);
    thread_ = std::thread([this, mood] {
      const OwnedDescriptor peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.is_open()) return;
      if (mood == Mood::silent) {
        char none = 0;
        (void)::recv(peer.get(), &none, 1, MSG_PEEK);
        while (::recv(peer.get(), &none, 1, 0) > 0) {
        }
      } else if (kind_ == Kind::mail) {
        serve_mail(peer.get(), mood);
      } else {
        serve_web(peer.get(), mood);
      }
    });
  }
  static void say(int peer, const std::string& text) {
    (void)::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // False: the connection has ended.
  bool take_line(int peer, std::string& line) {
    line.clear();
    char one = 0;
    while (::recv(peer, &one, 1, 0) == 1) {
      received_ += one;
      if (one == '\n') return true;
      if (one != '\r') line += one;
    }
    return false;
  }
  // RFC 5321, as far as curl speaks it.
  void serve_mail(int peer, Mood mood) {
    say(peer, "220 here\r\n");
    std::string line;
    while (take_line(peer, line)) {
      if (line.starts_with("RCPT") && mood == Mood::refuses) {
        say(peer, "550 no such user\r\n");
      } else if (line == "DATA") {
        say(peer, "354 go on\r\n");
        while (take_line(peer, line) && line != ".") {
        }
        say(peer, "250 taken\r\n");
      } else if (line == "QUIT") {
        say(peer, "221 bye\r\n");
      } else {
        say(peer, "250 ok\r\n");
      }
    }
  }
  void serve_web(int peer, Mood mood) {
    std::string line;
    std::size_t length = 0;
    while (take_line(peer, line) && !line.empty()) {
      if (line.starts_with("Content-Length: ")) length = std::stoul(line.substr(16));
    }
    std::string body(length, '\0');
    std::size_t got = 0;
    while (got < length) {
      const ssize_t more = ::recv(peer, body.data() + got, length - got, 0);
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    received_ += body;
    say(peer, mood == Mood::refuses
                  ? "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                  : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }

  Kind kind_;
  OwnedDescriptor listener_;
  std::uint16_t port_ = 0;
  std::string received_;
  std::thread thread_;
};

struct LetterDesk {
  // Writes a file that only its owner may read.
  std::string secret(const std::string& text) {
    const std::string file = folder.path() / ("secret-" + std::to_string(++secrets));
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    return file;
  }
  AlarmLetter letter(config::AlarmWay::Kind kind, const std::string& what,
                     v1::AlarmChannelSettings::Format format = v1::AlarmChannelSettings::FORMAT_JSON) {
    AlarmLetter letter;
    letter.serial = ++serial;
    letter.way = {kind, what, format, 2};
    letter.message.gravity = control::Gravity::error;
    letter.message.lines = {
        {"blocked", control::Gravity::error, "writer-0: \"full\" <at 9 °C>", kSecond, 0, 2, ""}};
    letter.scene = {"lab", 7, "running"};
    letter.utc_ns = 1'700'000'000 * kSecond;
    return letter;
  }
  // Sends it and returns its error.
  std::string send(AlarmLetter letter) {
    AlarmSender sender;
    sender.send(std::move(letter));
    for (int i = 0; i < 2000; ++i) {
      for (const AlarmOutcome& outcome : sender.take()) {
        CHECK(outcome.serial == serial);
        return outcome.error;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return "no outcome";
  }
  std::string mail(std::uint16_t port, const std::string& more = {}) {
    return secret("# shift's mail\nserver smtp://127.0.0.1:" + std::to_string(port) +
                  "\nfrom weir@daq.example\nto shift@example.org expert@example.org\n" + more);
  }
  std::string hook(std::uint16_t port) {
    return secret("http://127.0.0.1:" + std::to_string(port) + "/hooks/abc?x=\"y\"\nX-Token: s3cret\n");
  }
  ScratchFolder folder;
  std::uint64_t serial = 0;
  int secrets = 0;
};

constexpr auto kMail = config::AlarmWay::Kind::mail;
constexpr auto kHook = config::AlarmWay::Kind::webhook;
constexpr auto kCommand = config::AlarmWay::Kind::command;

}  // namespace

TEST_CASE("a mail arrives with sender, recipients, subject and text") {
  if (no_curl()) return;
  LetterDesk desk;
  AlarmReceiver server(AlarmReceiver::Kind::mail);
  CHECK(desk.send(desk.letter(kMail, desk.mail(server.port()))).empty());
  const std::string mail = server.close();
  CHECK_THAT(mail, ContainsSubstring("MAIL FROM:<weir@daq.example>") &&
                       ContainsSubstring("RCPT TO:<shift@example.org>") &&
                       ContainsSubstring("RCPT TO:<expert@example.org>"));
  CHECK_THAT(mail,
             ContainsSubstring("Subject: =?UTF-8?Q?=5Blab=5D=20error=3A=20blocked") &&
                 ContainsSubstring("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n") &&
                 ContainsSubstring(
                     "\r\n\r\nfarm lab: running, run 7\r\nerror: blocked: writer-0: \"full\" <at 9 °C>") &&
                 ContainsSubstring(", raised 2 times\r\n"));
}

TEST_CASE("a hook gets its format, and the headers of its file") {
  if (no_curl()) return;
  LetterDesk desk;
  const auto post = [&](v1::AlarmChannelSettings::Format format) {
    AlarmReceiver server(AlarmReceiver::Kind::web);
    CHECK(desk.send(desk.letter(kHook, desk.hook(server.port()), format)).empty());
    return server.close();
  };
  CHECK_THAT(post(v1::AlarmChannelSettings::FORMAT_JSON),
             ContainsSubstring("POST /hooks/abc?x=\"y\"") && ContainsSubstring("X-Token: s3cret\r\n") &&
                 ContainsSubstring("Content-Type: application/json\r\n") &&
                 ContainsSubstring("{\"farm\":\"lab\",\"run\":7,\"state\":\"running\",\"kind\":\"alarm\","
                                   "\"severity\":\"error\"") &&
                 ContainsSubstring("\"name\":\"blocked\""));
  CHECK_THAT(
      post(v1::AlarmChannelSettings::FORMAT_SLACK),
      ContainsSubstring("{\"text\":\"[lab] error: blocked: writer-0: \\\"full\\\" &lt;at 9 °C&gt;\\n"));
  CHECK_THAT(post(v1::AlarmChannelSettings::FORMAT_NTFY),
             ContainsSubstring("Title: =?UTF-8?Q?=5Blab=5D") && ContainsSubstring("Priority: high\r\n") &&
                 ContainsSubstring("\r\n\r\nfarm lab: running, run 7\n"));
}

TEST_CASE("a receiver that is dead is named in the error, and gets the message when it is back") {
  if (no_curl()) return;
  LetterDesk desk;
  for (const auto kind : {AlarmReceiver::Kind::mail, AlarmReceiver::Kind::web}) {
    CAPTURE(kind == AlarmReceiver::Kind::mail);
    AlarmReceiver receiver(kind, AlarmReceiver::Mood::dead);
    const AlarmLetter letter = kind == AlarmReceiver::Kind::mail
                                   ? desk.letter(kMail, desk.mail(receiver.port()))
                                   : desk.letter(kHook, desk.hook(receiver.port()));
    CHECK_THAT(desk.send(letter), ContainsSubstring("onnect"));
    receiver.revive();
    CHECK(desk.send(letter).empty());
    CHECK_THAT(receiver.close(), ContainsSubstring("blocked"));
  }
  const std::string siren = desk.folder.path() / "siren";
  const AlarmLetter letter = desk.letter(kCommand, siren);
  CHECK_THAT(desk.send(letter), ContainsSubstring("not found"));
  std::ofstream(siren) << "#!/bin/sh\nexec cat > /dev/null\n";
  std::filesystem::permissions(siren, std::filesystem::perms::owner_all);
  CHECK(desk.send(letter).empty());
}

TEST_CASE("receivers that do not answer end at their limit, side by side, and delay no other channel") {
  if (no_curl()) return;
  LetterDesk desk;
  AlarmReceiver mail(AlarmReceiver::Kind::mail, AlarmReceiver::Mood::silent);
  AlarmReceiver hook(AlarmReceiver::Kind::web, AlarmReceiver::Mood::silent);
  AlarmSender sender;
  for (AlarmLetter letter :
       {desk.letter(kMail, desk.mail(mail.port())), desk.letter(kHook, desk.hook(hook.port())),
        desk.letter(kCommand, "sleep 60"), desk.letter(kCommand, "cat > /dev/null")}) {
    letter.way.seconds_max = 1;
    sender.send(std::move(letter));
  }
  std::vector<AlarmOutcome> outcomes;
  for (int i = 0; i < 2000 && outcomes.size() < 4; ++i) {
    for (AlarmOutcome& outcome : sender.take()) outcomes.push_back(std::move(outcome));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(outcomes.size() == 4);
  CHECK(outcomes[0].serial == 4);
  CHECK(outcomes[0].error.empty());
  for (std::size_t i = 1; i < outcomes.size(); ++i) CHECK(outcomes[i].error == "no answer within 1 s");
}

TEST_CASE("a receiver that refuses is named in the error, and no password is sent in the clear") {
  if (no_curl()) return;
  LetterDesk desk;
  {
    AlarmReceiver refusing(AlarmReceiver::Kind::web, AlarmReceiver::Mood::refuses);
    CHECK_THAT(desk.send(desk.letter(kHook, desk.hook(refusing.port()))), ContainsSubstring("403"));
  }
  {
    AlarmReceiver refusing(AlarmReceiver::Kind::mail, AlarmReceiver::Mood::refuses);
    CHECK_THAT(desk.send(desk.letter(kMail, desk.mail(refusing.port()))), ContainsSubstring("550"));
  }
  {
    AlarmReceiver plain(AlarmReceiver::Kind::mail);  // a password is not sent without TLS
    CHECK_THAT(desk.send(desk.letter(kMail, desk.mail(plain.port(), "user weir\npassword s3cret\n"))),
               ContainsSubstring("TLS") || ContainsSubstring("SSL"));
    CHECK(plain.close().find("AUTH") == std::string::npos);
  }
}

TEST_CASE("a command has the message in its environment and on its input, and its last line is the error") {
  if (no_curl()) return;
  LetterDesk desk;
  const std::string out = desk.folder.path() / "out";
  CHECK(desk.send(desk.letter(kCommand,
                              "{ echo \"$WEIR_FARM $WEIR_RUN $WEIR_KIND $WEIR_SEVERITY $WEIR_FINDING: "
                              "$WEIR_REASON\"; cat; } > '" +
                                  out + "'"))
            .empty());
  std::ostringstream text;
  text << std::ifstream(out).rdbuf();
  CHECK_THAT(text.str(), ContainsSubstring("lab 7 alarm error blocked: writer-0: \"full\" <at 9 °C>\n"
                                           "[lab] error: blocked: writer-0: \"full\" <at 9 °C>\nfarm lab"));
  CHECK(desk.send(desk.letter(kCommand, "echo one >&2; echo 'no siren' >&2; exit 3")) == "no siren");
  CHECK(desk.send(desk.letter(kCommand, "exit 3")) == "exit status 3");
}

TEST_CASE("each word of a subject that is not ASCII has at most 75 characters") {
  LetterDesk desk;
  AlarmLetter letter = desk.letter(kMail, "");
  for (std::size_t shift = 0; shift < 12; ++shift) {
    letter.message.lines[0].reason = std::string(shift, 'x');
    for (int i = 0; i < 40; ++i) letter.message.lines[0].reason += "😀";
    const auto child = mail_child(letter, "server smtp://a\nfrom b\nto c\n");
    REQUIRE(child);
    std::istringstream lines(child->body);
    std::size_t words = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t begin = line.find("=?UTF-8?Q?");
      if (begin == std::string::npos) continue;
      ++words;
      CHECK(line.size() - begin <= 75);
    }
    CHECK(words > 5);
  }
}

TEST_CASE("files with secrets are read by their owner only, and have to be right") {
  LetterDesk desk;
  const std::string file = desk.folder.path() / "hook";
  std::ofstream(file) << "https://example.org/hook\n";
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  CHECK_THAT(read_secret(file).error(), ContainsSubstring("other users may read it: `chmod o= "));
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  CHECK(read_secret(file).value() == "https://example.org/hook\n");
  CHECK_THAT(read_secret("/no/such").error(), ContainsSubstring("No such file"));
  CHECK_THAT(read_secret("/dev/null").error(), ContainsSubstring("not a regular file"));
  const AlarmLetter hook = desk.letter(kHook, file);
  CHECK_FALSE(webhook_child(hook, "example.org\n"));
  CHECK_FALSE(webhook_child(hook, ""));
  CHECK_THAT(webhook_child(hook, "https://a/b\nno header\n").error(),
             ContainsSubstring("each line is a header"));
  const auto from_windows = webhook_child(hook, "https://a/b\r\n\r\nX-Token: 1\r\n");
  REQUIRE(from_windows);
  CHECK_THAT(from_windows->input,
             ContainsSubstring("url = \"https://a/b\"\n") && ContainsSubstring("header = \"X-Token: 1\"\n"));
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  std::ofstream(file) << std::string(10'000, 'x');
  CHECK_THAT(read_secret(file).error(), ContainsSubstring("is longer than"));
  const AlarmLetter mail = desk.letter(kMail, file);
  CHECK_THAT(mail_child(mail, "server smtp://a\nfrom b\n").error(), ContainsSubstring("server, from and to"));
  CHECK_THAT(mail_child(mail, "server\n").error(), ContainsSubstring("line 1: a key and its value"));
  CHECK_THAT(mail_child(mail, "sender x\n").error(), ContainsSubstring("the keys are server, from, to"));
  const auto many = mail_child(mail, "server smtp://a\nfrom b\nto c@d, e@f;g@h\nuser x\npassword = =s3 =\n");
  REQUIRE(many);
  CHECK_THAT(many->input,
             ContainsSubstring("mail-rcpt = \"c@d\"\nmail-rcpt = \"e@f\"\nmail-rcpt = \"g@h\"\n") &&
                 ContainsSubstring("user = \"x:=s3 =\"\n"));
  // Secrets are in no argument.
  const auto child = mail_child(mail, "server=smtps://a\nfrom = b@c\nto d@e\nuser me\npassword s3\"cret\n");
  REQUIRE(child);
  for (const std::string& word : child->command) CHECK(word.find("cret") == std::string::npos);
  CHECK_THAT(child->input, ContainsSubstring("user = \"me:s3\\\"cret\"\nssl-reqd\n"));
}
