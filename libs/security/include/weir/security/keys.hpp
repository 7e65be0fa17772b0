#pragma once

#include <weir/base/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The keys of a farm as plain data, and the files they lie in. docs/security.md says which process holds
// which.
//
// Files are text: blank lines and lines that begin with '#' say nothing; the first other line names format
// and version. A file with a secret is refused when anybody but its owner may read it. Every error is a
// sentence that names the file, the line where there is one, and what to do.
namespace weir::security {

constexpr std::size_t kFarmKeyBytes = 32;
constexpr std::size_t kFarmKeysMax = 8;     // of one file: the one in use, and those of a rotation
constexpr std::size_t kKeyNameMax = 64;     // letters, digits, '.', '_' and '-'
constexpr std::size_t kCurveKeyChars = 40;  // Z85 text of 32 bytes, as ZeroMQ takes it
constexpr std::size_t kClientsMax = 1024;
constexpr std::size_t kKeyFileBytesMax = 256 * 1024;

// One secret that every process of a farm has.
struct FarmKey {
  std::string name;
  std::array<std::byte, kFarmKeyBytes> secret{};
};

// The first is the one to prove oneself with; any of them is accepted. Never empty when read from a file.
struct FarmKeys {
  std::vector<FarmKey> keys;
  [[nodiscard]] const FarmKey* find(std::string_view name) const;
};

// What the bus asks of a client that connects, and what it lets the client do.
enum class BusRole : std::uint8_t { control, node, observer, operator_ };
[[nodiscard]] std::string_view name(BusRole role);  // "control", "node", "observer", "operator"

// CURVE keys of one end of the bus, Z85 text. At run control's own end public_key is server_public.
struct CurveKeys {
  BusRole role = BusRole::node;
  std::string server_public;
  std::string public_key;
  std::string secret_key;
};

// Whom run control lets in, and as what: the role is the key's, never what its holder claims.
struct AllowedClient {
  std::string name;
  BusRole role = BusRole::observer;
  std::string public_key;  // Z85 text
};

// Text of the files, without touching a disk. `file` stands in the errors.
[[nodiscard]] std::string to_text(const FarmKeys& keys);
[[nodiscard]] std::string to_text(const CurveKeys& keys);
[[nodiscard]] std::string to_text(const std::vector<AllowedClient>& clients);
[[nodiscard]] Expected<FarmKeys, std::string> parse_farm_keys(std::string_view text, const std::string& file);
[[nodiscard]] Expected<CurveKeys, std::string> parse_curve_keys(std::string_view text,
                                                                const std::string& file);
[[nodiscard]] Expected<std::vector<AllowedClient>, std::string> parse_clients(std::string_view text,
                                                                              const std::string& file);

[[nodiscard]] Expected<FarmKeys, std::string> read_farm_keys(const std::string& file);
[[nodiscard]] Expected<CurveKeys, std::string> read_curve_keys(const std::string& file);
// No secrets: anybody may read it; its owner alone may write it.
[[nodiscard]] Expected<std::vector<AllowedClient>, std::string> read_clients(const std::string& file);

// A new file, never over an old one; mode 0600 where `secret`. The error is a sentence; empty: written.
[[nodiscard]] std::string write_new_file(const std::string& file, const std::string& text, bool secret);
// Puts the text in the place of what the file holds, all or nothing; mode 0600 where `secret`.
[[nodiscard]] std::string replace_file(const std::string& file, const std::string& text, bool secret);

// New keys from the system's random numbers. Throws std::runtime_error when there are none to be had.
[[nodiscard]] FarmKey make_farm_key(const std::string& name);
[[nodiscard]] CurveKeys make_curve_keys(BusRole role, const std::string& server_public);  // empty: its own

// What tells a key from others without giving it away: 16 hex digits.
[[nodiscard]] std::string fingerprint(const FarmKey& key);
[[nodiscard]] bool good_key_name(std::string_view name);

// The names of the files in a folder that `weir keys new` has made.
inline constexpr std::string_view kFarmKeyFile = "farm.key";
inline constexpr std::string_view kClientsFile = "bus-clients";
[[nodiscard]] std::string curve_file(BusRole role);  // "operator.curve"

}  // namespace weir::security
