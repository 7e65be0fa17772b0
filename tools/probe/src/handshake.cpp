#include "handshake.hpp"

namespace weir::probe {
namespace {

using ports::ConnectionSide;

constexpr const char* kWrongKey = "the key is not the one of this server";

std::vector<std::byte> send_hello(MessageSocket& peer, const ports::Authenticator* key) {
  Hello hello;
  hello.has_key = key != nullptr;
  if (key != nullptr) hello.nonce = key->make_nonce();
  peer.send(hello);
  return encode(hello);
}

Hello receive_hello(MessageSocket& peer, std::vector<std::byte>& bytes) {
  const auto hello = peer.expect<Hello>();
  if (hello.version != kVersion)
    refuse(peer, "version " + std::to_string(hello.version) + " of `weir probe`, not " +
                     std::to_string(kVersion) + ": use the same Weir on both hosts");
  bytes = encode(hello);
  return hello;
}

void send_proof(MessageSocket& peer, const ports::Authenticator& key, ConnectionSide side,
                const ports::Hellos& hellos) {
  const ports::Proof proof = key.prove(side, hellos);
  peer.send(ProofMessage{proof.key, proof.mac});
}

[[nodiscard]] bool receives_proof(MessageSocket& peer, const ports::Authenticator& key, ConnectionSide side,
                                  const ports::Hellos& hellos) {
  const auto proof = peer.expect<ProofMessage>();
  return key.check(side, hellos, {proof.key, proof.mac}) == ports::ProofVerdict::good;
}

}  // namespace

std::shared_ptr<const ports::Authenticator> read_key(const std::string& file) {
  if (file.empty()) return nullptr;
  auto keys = security::read_farm_keys(file);
  if (!keys) throw std::invalid_argument(keys.error());
  return std::make_shared<security::FarmAuthenticator>(std::move(*keys));
}

void refuse(MessageSocket& peer, const std::string& why) {
  peer.send(Refused{why});
  throw PeerError(why);
}

void greet_server(MessageSocket& server, const ports::Authenticator* key) {
  const std::vector<std::byte> ours = send_hello(server, key);
  std::vector<std::byte> theirs;
  const Hello hello = receive_hello(server, theirs);
  if (key == nullptr) return;  // a server with a key refuses
  if (!hello.has_key) throw PeerError("has no key: start it with --key, or leave out --key here");
  const ports::Hellos hellos{ours, theirs};
  send_proof(server, *key, ConnectionSide::connecting, hellos);
  if (!receives_proof(server, *key, ConnectionSide::listening, hellos))
    throw PeerError("proved another key than the one given here");
}

void greet_client(MessageSocket& client, const ports::Authenticator* key) {
  std::vector<std::byte> theirs;
  const Hello hello = receive_hello(client, theirs);
  const std::vector<std::byte> ours = send_hello(client, key);
  if (key == nullptr) return;  // a client with a key gives up
  if (!hello.has_key) refuse(client, "this server needs a key: give its farm.key with --key");
  const ports::Hellos hellos{theirs, ours};
  if (!receives_proof(client, *key, ConnectionSide::connecting, hellos)) refuse(client, kWrongKey);
  send_proof(client, *key, ConnectionSide::listening, hellos);
}

}  // namespace weir::probe
