// The page over HTTPS: roles and names, refused files, and a certificate that ends soon.
#include "certificate.hpp"
#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/http/client.hpp>
#include <weir/run_control/run_control.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

constexpr long kMonth = 30L * 24 * 3600;

struct HttpsFarm {
  explicit HttpsFarm(long certificate_s = kMonth)
      : files(make_certificate(folder.path().string(), "page", "IP:127.0.0.1", certificate_s)) {}
  // The page's keys are in lines 5 to 8 of the farm file.
  [[nodiscard]] std::string farm_file(const std::string& people = {}) const {
    return write("farm.yaml", "farm: small\nrun: {out: '" + folder.path().string() +
                                  "'}\ncontrol:\n  page: 127.0.0.1:0\n  page_certificate: '" +
                                  files.certificate + "'\n  page_key: '" + files.key + "'\n" +
                                  (people.empty() ? "" : "  people: '" + people + "'\n"));
  }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::string path = (folder.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] std::unique_ptr<RunControl> start(const std::string& people = {}) const {
    RunControlSettings settings;
    settings.farm_file = farm_file(people);
    settings.listen = "127.0.0.1:0";
    return std::make_unique<RunControl>(std::move(settings));
  }
  [[nodiscard]] std::string refusal(const std::string& people = {}) const {
    try {
      (void)start(people);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  [[nodiscard]] http::ClientLimits trusting() const {
    http::ClientLimits limits;
    limits.timeout_ns = 20 * kSecond;
    limits.authority = files.certificate;
    return limits;
  }

  ScratchFolder folder;
  CertificateFiles files;
};

// Asks in a thread, while run control takes its turns.
template <class Ask>
http::ClientResponse answer_to(RunControl& control, const Ask& ask) {
  auto asked = std::async(std::launch::async, ask);
  while (asked.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready)
    control.turn(5 * kMillisecond);
  return asked.get().value();
}

http::ClientResponse answer_of(RunControl& control, const std::string& path, const std::string& body,
                               const std::string& token, const http::ClientLimits& limits) {
  return answer_to(control, [&] { return http::post(control.page() + path.substr(1), body, token, limits); });
}

}  // namespace

TEST_CASE("the page over HTTPS takes commands by role, and notes the name") {
  const HttpsFarm farm;
  const std::string people = farm.write(
      "people",
      "observer TV 0123456789abcdef-tv\nshift Ada 0123456789abcdef-ada\nexpert Bob 0123456789abcdef-bob\n");
  std::filesystem::permissions(people, std::filesystem::perms(0600));
  const auto control = farm.start(people);
  CHECK_THAT(control->page(), ContainsSubstring("https://127.0.0.1:"));
  const auto act = [&](const std::string& token, const std::string& key) {
    return answer_of(*control, "/api/act", R"({"action": "set", "sets": [")" + key + R"("]})", token,
                     farm.trusting());
  };
  CHECK(act("0123456789abcdef-tv", "dcm.credits=9").status == 403);
  CHECK(act("0123456789abcdef-ada", "dcm.credits=9").status == 403);
  CHECK(act("wrong", "dcm.credits=9").status == 401);
  CHECK(act("0123456789abcdef-bob", "dcm.credits=9").status == 202);
  CHECK(act("0123456789abcdef-bob", "dcm.credit=9").status == 409);
  const auto shift =
      answer_of(*control, "/api/command", R"({"command": "init"})", "0123456789abcdef-ada", farm.trusting());
  CHECK(shift.status == 202);
  const auto state =
      answer_to(*control, [&] { return http::get(control->page() + "api/state", farm.trusting()); });
  CHECK_THAT(state.body, ContainsSubstring("\"under_way\":\"init\""));  // at once, not with the next second
  std::string events;
  const v1::FarmView view = control->view();
  for (const auto& line : view.events()) events += line.text() + "\n";
  CHECK_THAT(events, ContainsSubstring("Bob, the page, from 127.0.0.1"));
  CHECK(http::get(control->page()).error() == http::ClientError::not_trusted);
}

TEST_CASE("files of the page that cannot be used are refused with the line of the farm file") {
  const HttpsFarm farm;
  const auto is_at = [&](int line, const std::string& key) {
    return ContainsSubstring(farm.folder.path().string() + "/farm.yaml:" + std::to_string(line) + ": " + key +
                             ": ");
  };
  CHECK(farm.refusal().empty());
  const std::string people = farm.write("people", "captain Ada 0123456789abcdef\n");
  std::filesystem::permissions(people, std::filesystem::perms(0600));
  CHECK_THAT(farm.refusal(people), is_at(7, "control.people"));
  std::filesystem::permissions(farm.files.key, std::filesystem::perms(0644));
  CHECK_THAT(farm.refusal(), is_at(6, "control.page_key") && ContainsSubstring("chmod o="));
  std::filesystem::permissions(farm.files.key, std::filesystem::perms(0600));
  std::ofstream(farm.files.certificate) << "nothing\n";
  CHECK_THAT(farm.refusal(), is_at(5, "control.page_certificate") && ContainsSubstring("in PEM"));
}

TEST_CASE("a certificate that ends within 14 days is a finding, with the time of its end") {
  const auto findings = [](long seconds) {
    const HttpsFarm farm(seconds);
    const auto control = farm.start();
    control->turn(0);
    std::string text;
    const v1::FarmView view = control->view();
    for (const auto& one : view.health()) text += one.word() + ": " + one.reason() + "\n";
    return text;
  };
  CHECK_THAT(findings(24L * 3600),
             ContainsSubstring("page certificate: ends on ") && ContainsSubstring("renew "));
  CHECK_THAT(findings(kMonth), !ContainsSubstring("page certificate"));
}
