#pragma once

#include <weir/base/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The keys of a farm as plain data, and their files. docs/security.md lists which process holds which key.
//
// Files are text: blank lines and lines that begin with '#' are ignored; the first other line has format
// and version. A file with a secret is refused if another user than its owner can read it. Every error is a
// sentence with the file, the line if there is one, and advice.
namespace weir::security {

constexpr std::size_t kFarmKeyBytes = 32;
constexpr std::size_t kFarmKeysMax = 8;     // of one file: the one in use, and those of a rotation
constexpr std::size_t kKeyNameMax = 64;     // letters, digits, '.', '_' and '-'
constexpr std::size_t kCurveKeyChars = 40;  // Z85 text of 32 bytes, in ZeroMQ's form
constexpr std::size_t kClientsMax = 1024;
constexpr std::size_t kKeyFileBytesMax = 256 * 1024;

// A secret that every process of a farm has.
struct FarmKey {
  std::string name;
  std::array<std::byte, kFarmKeyBytes> secret{};
};

// The first key is used for proofs; any of them is accepted. Never empty when read from a file.
struct FarmKeys {
  std::vector<FarmKey> keys;
  [[nodiscard]] const FarmKey* find(std::string_view name) const;
};

// The role of a client on the bus, which determines its rights.
enum class BusRole : std::uint8_t { control, node, observer, operator_ };
[[nodiscard]] std::string_view name(BusRole role);  // "control", "node", "observer", "operator"

// CURVE keys of one end of the bus, Z85 text. At run control's own end public_key equals server_public.
struct CurveKeys {
  BusRole role = BusRole::node;
  std::string server_public;
  std::string public_key;
  std::string secret_key;
};

// A client that run control accepts, and its role: the role belongs to the key, whatever its holder claims.
struct AllowedClient {
  std::string name;
  BusRole role = BusRole::observer;
  std::string public_key;  // Z85 text
};

// Convert keys to and from the files' text, without disk access. `file` is named in errors.
[[nodiscard]] std::string to_text(const FarmKeys& keys);
[[nodiscard]] std::string to_text(const CurveKeys& keys);
[[nodiscard]] std::string to_text(const std::vector<AllowedClient>& clients);
[[nodiscard]] Expected<FarmKeys, std::string> parse_farm_keys(std::string_view text, const std::string& file);
// Keys of trigger clients (trigger.key_file), which prove nothing else.
[[nodiscard]] std::string trigger_keys_text(const FarmKeys& keys);
[[nodiscard]] Expected<FarmKeys, std::string> parse_trigger_keys(std::string_view text,
                                                                 const std::string& file);
[[nodiscard]] Expected<CurveKeys, std::string> parse_curve_keys(std::string_view text,
                                                                const std::string& file);
[[nodiscard]] Expected<std::vector<AllowedClient>, std::string> parse_clients(std::string_view text,
                                                                              const std::string& file);

[[nodiscard]] Expected<FarmKeys, std::string> read_farm_keys(const std::string& file);
[[nodiscard]] Expected<FarmKeys, std::string> read_trigger_keys(const std::string& file);
[[nodiscard]] Expected<CurveKeys, std::string> read_curve_keys(const std::string& file);
// Contains no secrets: any user may read the file, but only its owner may write it.
[[nodiscard]] Expected<std::vector<AllowedClient>, std::string> read_clients(const std::string& file);

// Writes a new file, never over an existing one; mode 0600 if `secret`. Returns an error, or an empty string.
[[nodiscard]] std::string write_new_file(const std::string& file, const std::string& text, bool secret);
// Replaces the file's contents with the text, completely or not at all; mode 0600 if `secret`.
[[nodiscard]] std::string replace_file(const std::string& file, const std::string& text, bool secret);

// Makes new keys from the system's random numbers. Throws std::runtime_error if none are available.
[[nodiscard]] FarmKey make_farm_key(const std::string& name);
[[nodiscard]] CurveKeys make_curve_keys(BusRole role, const std::string& server_public);  // empty: its own

// Returns 32 hex digits that a trigger client's proofs include: the same for equal keys and `purpose`.
[[nodiscard]] std::string trigger_challenge(const FarmKeys& keys, std::string_view purpose);
// Returns true if `mac` is hexadecimal HMAC-SHA256 over challenge, a blank and the line, with one of the
// keys.
[[nodiscard]] bool proves_trigger(const FarmKeys& keys, std::string_view challenge, std::string_view line,
                                  std::string_view mac);

// Returns 16 hex digits that identify a key without revealing it.
[[nodiscard]] std::string fingerprint(const FarmKey& key);
[[nodiscard]] bool good_key_name(std::string_view name);

// Names of the files in a folder made by `weir keys new`.
inline constexpr std::string_view kFarmKeyFile = "farm.key";
inline constexpr std::string_view kClientsFile = "bus-clients";
inline constexpr std::string_view kTriggerKeyFile = "trigger.key";
[[nodiscard]] std::string curve_file(BusRole role);  // "operator.curve"

}  // namespace weir::security
