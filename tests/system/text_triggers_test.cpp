// Triggers as lines of text: docs/triggers.md, with the clients in docs/examples.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "text_client.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <regex>
#include <set>
#include <sstream>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr char kFarm[] =
    "farm: text\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "readout: {count: 2, sources_per_readout: 2}\n"
    "filter: {plugin: accept-all}\n"
    "supervisor: {status_interval_ms: 100}\n";

std::string example(const std::string& name) {
  return std::string(WEIR_SOURCE_DIR) + "/docs/examples/" + name;
}

std::string farm_file(const TemporaryFolder& folder, const std::string& more = "") {
  return folder.write(
      "farm.yaml",
      std::string(kFarm) + "trigger: {mode: network, listen_text: \"127.0.0.1:0\"" + more + "}\n");
}

// The port of a supervisor's last start.
std::uint16_t text_port(const FarmRun& run) {
  REQUIRE(run.wait_for_log("supervisor", "text_triggers="));
  const std::string log = run.log("supervisor");
  const std::size_t at = log.find(':', log.rfind("text_triggers="));
  return static_cast<std::uint16_t>(std::atoi(log.c_str() + at + 1));
}

// Checks that `weir run` prints the address.
void check_printed(FarmRun& run, const std::string& port) {
  const std::string line = "takes triggers as lines of text at 127.0.0.1:" + port + "\n";
  CHECK(wait_until([&] { return run.process().out().find(line) != std::string::npos; }, Seconds(10)));
}

// Runs a client to its end and returns its answers, one a line.
std::vector<std::string> answers_of(const TemporaryFolder& folder, const std::vector<std::string>& command) {
  Process client(command, folder / "client.out", folder / "client.err");
  const auto status = client.wait(Seconds(30));
  INFO(client.err());
  REQUIRE(status == 0);
  std::vector<std::string> lines;
  std::istringstream text(client.out());
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

FarmEnd stop(FarmRun& run) {
  run.process().send_signal(SIGINT);
  return run.finish();
}

}  // namespace

TEST_CASE("clients in a shell, in Python and in C trigger one slice per answer") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm_file(folder), {});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  const std::string port = std::to_string(text_port(run));
  check_printed(run, port);
  REQUIRE(Process({"/usr/bin/env", "cc", "-std=c99", "-Wall", "-Werror", "-o", folder / "trigger",
                   example("trigger.c")},
                  folder / "cc.out", folder / "cc.err")
              .wait(Seconds(30)) == 0);
  const std::vector<std::vector<std::string>> clients = {
      {"/usr/bin/env", "bash", example("trigger.sh"), "127.0.0.1", port, "20"},
      {"/usr/bin/env", "python3", example("trigger.py"), "127.0.0.1", port, "20"},
      {"/usr/bin/env", "python3", example("trigger.py"), "127.0.0.1", port, "20", "--udp"},
      {folder / "trigger", "127.0.0.1", port, "20"}};
  std::set<std::string> taken;
  for (const auto& client : clients) {
    const auto answers = answers_of(folder, client);
    CHECK(answers.size() == 20);
    for (const std::string& answer : answers) {
      CHECK(answer.starts_with("taken "));
      CHECK(taken.insert(answer).second);
    }
  }
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") == 80);
  CHECK(end.summary.count("triggered") == 80);
}

TEST_CASE("outside loopback clients need the trigger key, which opens nothing else") {
  const TemporaryFolder folder;
  CHECK(run_command(folder, "weir", {"keys", "trigger", folder / "keys"}).status == 0);
  const std::string key = folder / "keys/trigger.key";
  FarmRun run(folder, farm_file(folder, ", key_file: " + key), {});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  const std::string port = std::to_string(text_port(run));
  for (const std::string& answer :
       answers_of(folder, {"/usr/bin/env", "bash", example("trigger.sh"), "127.0.0.1", port, "5", key}))
    CHECK(answer.starts_with("taken "));
  for (const char* transport : {"", "--udp"}) {
    std::vector<std::string> client = {
        "/usr/bin/env", "python3", example("trigger.py"), "127.0.0.1", port, "5", "--key", key};
    if (*transport != '\0') client.emplace_back(transport);
    for (const std::string& answer : answers_of(folder, client)) CHECK(answer.starts_with("taken "));
  }
  TextClient stranger(TextClient::Kind::tcp, text_port(run));
  stranger.send("trigger client=x session=1 n=1\n");
  CHECK(stranger.line(Seconds(10)) == "error mac n=1 session=1");
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") == 15);

  const CommandEnd refused =
      run_command(folder, "weir", {"check", farm_file(folder), "--set", "trigger.listen_text=0.0.0.0:0"});
  CHECK(refused.status != 0);
  CHECK_THAT(refused.err + refused.out,
             Catch::ContainsSubstring("trigger.key_file") && Catch::ContainsSubstring("weir keys trigger"));
  const CommandEnd no_farm_key =
      run_command(folder, "weir", {"check", farm_file(folder), "--set", "security.key_file=" + key});
  CHECK(no_farm_key.status != 0);
  CHECK_THAT(no_farm_key.err + no_farm_key.out, Catch::ContainsSubstring("is not a file of weir-farm-keys"));
}

TEST_CASE("garbage and too long lines cost their connection alone, and each is answered with the remedy") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm_file(folder), {});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  const std::uint16_t port = text_port(run);
  TextClient good(TextClient::Kind::tcp, port);
  TextClient bad(TextClient::Kind::tcp, port);
  bad.send("triger\ntrigger slice=-1\n");
  CHECK(bad.line(Seconds(10)) == "error request 'triger' is unknown: send `trigger` or `hello`");
  CHECK(bad.line(Seconds(10)).starts_with("error 'slice=-1' is not"));
  bad.send(std::string(20'000, 'x'));
  CHECK_THAT(bad.line(Seconds(10)), Catch::ContainsSubstring("line longer than 8192 bytes"));
  CHECK(bad.closed(Seconds(10)));
  // Beyond the limit of connections the one silent longest is closed, never one that is in use.
  std::vector<std::unique_ptr<TextClient>> crowd;
  for (int i = 0; i < 100; ++i) {
    good.send("trigger\n");
    CHECK(good.line(Seconds(10)).starts_with("taken "));
    crowd.push_back(std::make_unique<TextClient>(TextClient::Kind::tcp, port));
  }
  CHECK(crowd.front()->closed(Seconds(10)));
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") == 100);
}

namespace {

// Offers triggers over a network that loses, doubles and reorders requests and answers.
void lossy_run(std::uint64_t triggers, int kills, const std::string& more) {
  const TemporaryFolder folder;
  // A restarted supervisor listens at the same port, as a farm in use does.
  const std::uint16_t port = free_text_port();
  const std::string farm = folder.write(
      "farm.yaml", std::string(kFarm) + "run: {drain_timeout_s: 60}\n" + more +
                       "trigger: {mode: network, listen_text: \"127.0.0.1:" + std::to_string(port) + "\"}\n");
  FarmRun run(folder, farm, {});
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  LossyClient client(port, triggers);
  for (int kill = 1; kill <= kills; ++kill) {
    REQUIRE(client.run_until(
        triggers * static_cast<std::uint64_t>(kill) / static_cast<std::uint64_t>(kills + 1), Seconds(60)));
    REQUIRE(run.send_signal("supervisor", SIGKILL));
  }
  REQUIRE(client.run_until(triggers, Seconds(500)));
  const LossyClient::Account& account = client.account();
  CHECK(account.contradictions == 0);
  CHECK(account.taken + account.busy == triggers);
  CHECK(account.slices == account.taken);
  CHECK(account.repeats > triggers / 10);
  const FarmEnd end = stop(run);
  CHECK_BALANCED(end, kills > 0 ? 3 : 0);
  CHECK(end.summary.count("offered") == triggers);
  CHECK(end.summary.count("triggered") == account.taken);
}

}  // namespace

TEST_CASE("with losses and repeats, and a supervisor that is killed, every trigger is answered once") {
  lossy_run(20'000, 2, "");
}

TEST_CASE("a million triggers with losses and repeats are each answered once", "[.million]") {
  lossy_run(1'000'000, 2, "writer: {count: 0}\n");
}
