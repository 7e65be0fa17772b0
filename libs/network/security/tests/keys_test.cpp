#include "weir_catch.hpp"
#include <weir/security/keys.hpp>

namespace weir::security {

using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kHex(64, 'a');
const std::string kCurve(40, 'A');

std::string farm_problem(const std::string& text) {
  const auto keys = parse_farm_keys(text, "farm.key");
  return keys ? std::string() : keys.error();
}

std::string curve_problem(const std::string& text) {
  const auto keys = parse_curve_keys(text, "node.curve");
  return keys ? std::string() : keys.error();
}

std::string clients_problem(const std::string& text) {
  const auto clients = parse_clients(text, "bus-clients");
  return clients ? std::string() : clients.error();
}

}  // namespace

TEST_CASE("farm keys are read back as they were written, in their order") {
  const FarmKeys made{{make_farm_key("2026-11"), make_farm_key("2026-10")}};
  CHECK(made.keys[0].secret != made.keys[1].secret);
  const auto read = parse_farm_keys(to_text(made), "farm.key");
  REQUIRE(read.has_value());
  REQUIRE(read->keys.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read->keys[i].name == made.keys[i].name);
    CHECK(read->keys[i].secret == made.keys[i].secret);
  }
  CHECK(read->find("2026-10") == &read->keys[1]);
  CHECK(read->find("2026-09") == nullptr);
}

TEST_CASE("a file that holds no good farm keys is refused with its line, and without the secret") {
  CHECK_THAT(farm_problem(""), ContainsSubstring("farm.key: is not a file of weir-farm-keys"));
  CHECK_THAT(farm_problem("key a " + kHex), ContainsSubstring("is not a file of weir-farm-keys"));
  CHECK_THAT(farm_problem("weir-farm-keys 2\n"), ContainsSubstring("farm.key:1: version 2 is not known"));
  CHECK_THAT(farm_problem("weir-farm-keys 1\n"), ContainsSubstring("holds no key"));
  const std::string head = "# said\n\nweir-farm-keys 1\n";
  for (const std::string& line : {std::string("key a"), "key a " + kHex + "a", "key a " + kHex.substr(1),
                                  "key a " + kHex.substr(1) + "g", "key a/b " + kHex, "Key a " + kHex,
                                  "key a " + kHex + " more", "key " + std::string(65, 'n') + " " + kHex}) {
    const std::string problem = farm_problem(head + line + "\n");
    INFO(line);
    CHECK_THAT(problem, ContainsSubstring("farm.key:4: is not `key NAME`"));
    CHECK(problem.find("aaaaaaaa") == problem.npos);
  }
  const std::string one = "key a " + kHex + "\n";
  CHECK_THAT(farm_problem(head + one + one), ContainsSubstring("farm.key:5: key 'a' occurs twice"));
  std::string many = head;
  for (std::size_t i = 0; i <= kFarmKeysMax; ++i) many += "key k" + std::to_string(i) + " " + kHex + "\n";
  CHECK_THAT(farm_problem(many), ContainsSubstring("farm.key:12: more than 8 keys"));
}

TEST_CASE("CURVE keys are read back as they were written") {
  const CurveKeys control = make_curve_keys(BusRole::control, "");
  CHECK(control.server_public == control.public_key);
  const CurveKeys node = make_curve_keys(BusRole::operator_, control.public_key);
  CHECK(node.public_key != control.public_key);
  const auto read = parse_curve_keys(to_text(node), "operator.curve");
  REQUIRE(read.has_value());
  CHECK(read->role == BusRole::operator_);
  CHECK(read->server_public == control.public_key);
  CHECK(read->public_key == node.public_key);
  CHECK(read->secret_key == node.secret_key);
}

TEST_CASE("a file that holds no good CURVE keys is refused") {
  const std::string head = "weir-curve-keys 1\n";
  const std::string keys = "server " + kCurve + "\npublic " + kCurve + "\n";
  CHECK(curve_problem(head + "role node\n" + keys + "secret " + kCurve) == "");
  CHECK_THAT(curve_problem("weir-farm-keys 1"), ContainsSubstring("is not a file of weir-curve-keys"));
  CHECK_THAT(curve_problem(head + "role node\n" + keys), ContainsSubstring("lacks one of the lines"));
  CHECK_THAT(curve_problem(head + keys + "secret " + kCurve), ContainsSubstring("lacks one of the lines"));
  CHECK_THAT(curve_problem(head + "role king\n"), ContainsSubstring("node.curve:2: is neither"));
  CHECK_THAT(curve_problem(head + keys + "server " + kCurve), ContainsSubstring("node.curve:4: is neither"));
  CHECK_THAT(curve_problem(head + "public " + kCurve + "A"), ContainsSubstring("node.curve:2: is neither"));
  CHECK_THAT(curve_problem(head + "public " + kCurve.substr(1) + "~"), ContainsSubstring("is neither"));
}

TEST_CASE("the bus' clients are read back with their roles; a key with two of them is refused") {
  const std::vector<AllowedClient> made{{"nodes", BusRole::node, kCurve},
                                        {"shift", BusRole::operator_, "B" + kCurve.substr(1)}};
  const auto read = parse_clients(to_text(made), "bus-clients");
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 2);
  CHECK((*read)[1].name == "shift");
  CHECK((*read)[1].role == BusRole::operator_);
  CHECK((*read)[1].public_key == "B" + kCurve.substr(1));
  const std::string head = "weir-bus-clients 1\n";
  CHECK(clients_problem(head) == "");
  CHECK_THAT(clients_problem(head + "client node a " + kCurve + "\nclient operator a " + kCurve),
             ContainsSubstring("bus-clients:3: duplicate key"));
  CHECK_THAT(clients_problem(head + "client root a " + kCurve), ContainsSubstring("bus-clients:2: is not"));
}

TEST_CASE("a key's fingerprint tells keys apart and is the same for the same secret") {
  const FarmKey a = make_farm_key("a");
  const FarmKey b = make_farm_key("a");
  CHECK(fingerprint(a).size() == 16);
  CHECK(fingerprint(a) != fingerprint(b));
  CHECK(fingerprint(a) == fingerprint({"another name", a.secret}));
}

}  // namespace weir::security
