#include "crypto.hpp"
#include <weir/security/keys.hpp>

#include <zmq.h>

#include <algorithm>
#include <stdexcept>

namespace weir::security {
namespace {

constexpr std::size_t kFingerprintBytes = 8;
constexpr BusRole kRoles[] = {BusRole::control, BusRole::node, BusRole::observer, BusRole::operator_};
constexpr std::string_view kRoleNames[] = {"control", "node", "observer", "operator"};
constexpr std::string_view kFarmFormat = "weir-farm-keys";
constexpr std::string_view kTriggerFormat = "weir-trigger-keys";
constexpr std::string_view kCurveFormat = "weir-curve-keys";
constexpr std::string_view kClientsFormat = "weir-bus-clients";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kZ85Marks = ".-:+=^!/*?&<>()[]{}@%$#";

std::string hex(ConstBytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool from_hex(std::string_view text, Bytes out) {
  if (text.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

bool letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool good_curve_key(std::string_view text) {
  return text.size() == kCurveKeyChars && std::all_of(text.begin(), text.end(), [](char c) {
           return letter_or_digit(c) || kZ85Marks.find(c) != kZ85Marks.npos;
         });
}

bool find_role(std::string_view text, BusRole& role) {
  const auto* found = std::find(std::begin(kRoleNames), std::end(kRoleNames), text);
  if (found == std::end(kRoleNames)) return false;
  role = kRoles[found - std::begin(kRoleNames)];
  return true;
}

std::string maker(std::string_view format) {
  return format == kTriggerFormat ? "`weir keys trigger`" : "`weir keys new`";
}

std::string key_lines(const FarmKeys& keys) {
  std::string text;
  for (const FarmKey& key : keys.keys) text += "key " + key.name + " " + hex(key.secret) + "\n";
  return text;
}

// A non-empty line of a file: its words and its number.
struct Line {
  std::size_t number = 0;
  std::vector<std::string_view> words;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

class Lines {
 public:
  Lines(std::string_view text, std::string file) : file_(std::move(file)) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::vector<std::string_view> words = words_of(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!words.empty() && words.front().front() != '#') lines_.push_back({number, std::move(words)});
    }
  }

  // Returns an empty string, or an error if the file is of another kind or version.
  [[nodiscard]] std::string wrong_format(std::string_view format) const {
    if (lines_.empty() || lines_.front().words.size() != 2 || lines_.front().words[0] != format) {
      return file_ + ": is not a file of " + std::string(format) + ": create one with " + maker(format);
    }
    if (lines_.front().words[1] == kVersion) return {};
    return at(lines_.front(), "version " + std::string(lines_.front().words[1]) +
                                  " is not known here, only " + std::string(kVersion) +
                                  ": install the same release everywhere");
  }
  [[nodiscard]] std::string at(const Line& line, const std::string& what) const {
    return file_ + ":" + std::to_string(line.number) + ": " + what;
  }
  [[nodiscard]] std::string nowhere(const std::string& what) const { return file_ + ": " + what; }
  // Returns the lines after the one with the format.
  [[nodiscard]] std::vector<Line> said() const { return {lines_.begin() + 1, lines_.end()}; }

 private:
  std::string file_;
  std::vector<Line> lines_;
};

Unexpected<std::string> wrong(std::string why) { return Unexpected<std::string>(std::move(why)); }

}  // namespace

const FarmKey* FarmKeys::find(std::string_view wanted) const {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == wanted; });
  return found == keys.end() ? nullptr : &*found;
}

std::string_view name(BusRole role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::string curve_file(BusRole role) { return std::string(name(role)) + ".curve"; }

bool good_key_name(std::string_view name) {
  return !name.empty() && name.size() <= kKeyNameMax && std::all_of(name.begin(), name.end(), [](char c) {
    return letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

std::string to_text(const FarmKeys& keys) {
  std::string text =
      "# Keys of a Weir farm. Every process of the farm needs this file, and any holder of it can join the "
      "farm: keep it\n"
      "# secret. The first key is the one that is used, any of them is accepted (`weir keys`, "
      "docs/security.md).\n" +
      std::string(kFarmFormat) + " " + std::string(kVersion) + "\n";
  return text + key_lines(keys);
}

std::string trigger_keys_text(const FarmKeys& keys) {
  return "# Keys of a Weir farm's trigger clients (trigger.key_file, docs/triggers.md). Any holder of a key "
         "can\n"
         "# offer triggers, and do nothing else: keep it secret. Any key of the file is accepted.\n" +
         std::string(kTriggerFormat) + " " + std::string(kVersion) + "\n" + key_lines(keys);
}

std::string to_text(const CurveKeys& keys) {
  return "# Keys of one end of a Weir farm's bus, role " + std::string(name(keys.role)) +
         ". Any holder of this file has the role: keep it secret.\n" + std::string(kCurveFormat) + " " +
         std::string(kVersion) + "\nrole " + std::string(name(keys.role)) + "\nserver " + keys.server_public +
         "\npublic " + keys.public_key + "\nsecret " + keys.secret_key + "\n";
}

std::string to_text(const std::vector<AllowedClient>& clients) {
  std::string text =
      "# Clients that run control accepts on the bus: client ROLE NAME PUBLIC-KEY. Not secret. A removed "
      "line  "
      "shuts\n"
      "# its holder out when run control is started anew.\n" +
      std::string(kClientsFormat) + " " + std::string(kVersion) + "\n";
  for (const AllowedClient& client : clients) {
    text += "client " + std::string(name(client.role)) + " " + client.name + " " + client.public_key + "\n";
  }
  return text;
}

namespace {

Expected<FarmKeys, std::string> parse_secrets(std::string_view format, std::string_view text,
                                              const std::string& file) {
  const Lines lines(text, file);
  if (std::string why = lines.wrong_format(format); !why.empty()) return wrong(std::move(why));
  FarmKeys keys;
  for (const Line& line : lines.said()) {
    FarmKey key;
    if (line.words.size() != 3 || line.words[0] != "key" || !good_key_name(line.words[1]) ||
        !from_hex(line.words[2], key.secret)) {
      return wrong(lines.at(line, "is not `key NAME` and 64 hex digits"));
    }
    key.name = line.words[1];
    if (keys.find(key.name) != nullptr)
      return wrong(lines.at(line, "key '" + key.name + "' occurs twice: remove one"));
    if (keys.keys.size() == kFarmKeysMax) {
      return wrong(lines.at(line, "more than " + std::to_string(kFarmKeysMax) + " keys: remove unused ones"));
    }
    keys.keys.push_back(std::move(key));
  }
  if (keys.keys.empty()) return wrong(lines.nowhere("holds no key: create one with " + maker(format)));
  return keys;
}

}  // namespace

Expected<FarmKeys, std::string> parse_farm_keys(std::string_view text, const std::string& file) {
  return parse_secrets(kFarmFormat, text, file);
}

Expected<FarmKeys, std::string> parse_trigger_keys(std::string_view text, const std::string& file) {
  return parse_secrets(kTriggerFormat, text, file);
}

Expected<CurveKeys, std::string> parse_curve_keys(std::string_view text, const std::string& file) {
  const Lines lines(text, file);
  if (std::string why = lines.wrong_format(kCurveFormat); !why.empty()) return wrong(std::move(why));
  CurveKeys keys;
  bool has_role = false;
  for (const Line& line : lines.said()) {
    std::string* target = nullptr;
    if (line.words[0] == "server") target = &keys.server_public;
    if (line.words[0] == "public") target = &keys.public_key;
    if (line.words[0] == "secret") target = &keys.secret_key;
    if (line.words.size() == 2 && line.words[0] == "role" && find_role(line.words[1], keys.role)) {
      has_role = true;
    } else if (line.words.size() == 2 && target != nullptr && target->empty() &&
               good_curve_key(line.words[1])) {
      *target = line.words[1];
    } else {
      return wrong(lines.at(line,
                            "is neither `role` and one of control, node, observer, operator, nor "
                            "`server`, `public` or `secret` and a key of 40 characters, once each"));
    }
  }
  if (!has_role || keys.server_public.empty() || keys.public_key.empty() || keys.secret_key.empty()) {
    return wrong(lines.nowhere("lacks one of the lines `role`, `server`, `public`, `secret`"));
  }
  return keys;
}

Expected<std::vector<AllowedClient>, std::string> parse_clients(std::string_view text,
                                                                const std::string& file) {
  const Lines lines(text, file);
  if (std::string why = lines.wrong_format(kClientsFormat); !why.empty()) return wrong(std::move(why));
  std::vector<AllowedClient> clients;
  for (const Line& line : lines.said()) {
    AllowedClient client;
    if (line.words.size() != 4 || line.words[0] != "client" || !find_role(line.words[1], client.role) ||
        !good_key_name(line.words[2]) || !good_curve_key(line.words[3])) {
      return wrong(lines.at(line,
                            "is not `client`, one of control, node, observer, operator, a name, and a "
                            "public key of 40 characters"));
    }
    client.name = line.words[2];
    client.public_key = line.words[3];
    const bool known = std::any_of(clients.begin(), clients.end(),
                                   [&](const auto& each) { return each.public_key == client.public_key; });
    if (known) return wrong(lines.at(line, "duplicate key: a key can have only one role"));
    if (clients.size() == kClientsMax)
      return wrong(lines.at(line, "more than " + std::to_string(kClientsMax) + " clients"));
    clients.push_back(std::move(client));
  }
  return clients;
}

FarmKey make_farm_key(const std::string& name) {
  FarmKey key;
  key.name = name;
  fill_random(key.secret);
  return key;
}

CurveKeys make_curve_keys(BusRole role, const std::string& server_public) {
  char public_key[kCurveKeyChars + 1];
  char secret_key[kCurveKeyChars + 1];
  if (::zmq_curve_keypair(public_key, secret_key) != 0) {
    throw std::runtime_error("this ZeroMQ was built without CURVE: install the distribution's libzmq");
  }
  return {role, server_public.empty() ? std::string(public_key) : server_public, public_key, secret_key};
}

std::string trigger_challenge(const FarmKeys& keys, std::string_view purpose) {
  constexpr std::size_t kBytes = 16;
  const Digest mac = hmac_sha256(keys.keys.front().secret, std::as_bytes(std::span(purpose)));
  return hex(ConstBytes(mac).first(kBytes));
}

bool proves_trigger(const FarmKeys& keys, std::string_view challenge, std::string_view line,
                    std::string_view mac) {
  Digest given{};
  if (!from_hex(mac, given)) return false;
  const std::string proved = std::string(challenge) + " " + std::string(line);
  bool good = false;
  for (const FarmKey& key : keys.keys)
    good = same_secret(hmac_sha256(key.secret, std::as_bytes(std::span(proved))), given) || good;
  return good;
}

std::string fingerprint(const FarmKey& key) {
  constexpr std::string_view kPurpose = "weir farm key fingerprint";
  const Digest mac = hmac_sha256(key.secret, std::as_bytes(std::span(kPurpose)));
  return hex(ConstBytes(mac).first(kFingerprintBytes));
}

}  // namespace weir::security
