#include "net/tls/key_pairs.hpp"

#include <openssl/evp.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/printers.hpp"

namespace {

namespace fs = std::filesystem;

// Returns ssh-keygen's public line for a private key; "" if it is invalid.
std::string public_line_by_openssh(const std::string& private_pem) {
    std::string folder = (fs::temp_directory_path() / "signalbox-key-XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()));
    const fs::path file = fs::path(folder) / "id_rsa";
    std::ofstream(file) << private_pem;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    std::FILE* program = popen(("ssh-keygen -y -P '' -f " + file.string()).c_str(), "r");
    REQUIRE(program);
    std::string line;
    std::array<char, 4096> buffer = {};
    while (std::fgets(buffer.data(), buffer.size(), program)) line += buffer.data();
    const bool read = pclose(program) == 0;
    fs::remove_all(folder);
    return read ? line : "";
}

std::string shared_secret(const std::string& secret, const std::string& peer) {
    const auto raw = [](const std::string& key) {
        return reinterpret_cast<const unsigned char*>(key.data());
    };
    EVP_PKEY* ours = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, raw(secret), secret.size());
    EVP_PKEY* peer_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(peer), peer.size());
    EVP_PKEY_CTX* context = EVP_PKEY_CTX_new(ours, nullptr);
    std::string shared(32, '\0');
    std::size_t length = shared.size();
    const bool derived =
        EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer_key) == 1 &&
        EVP_PKEY_derive(context, reinterpret_cast<unsigned char*>(shared.data()), &length) == 1;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(ours);
    EVP_PKEY_free(peer_key);
    return derived ? shared : "";
}

}  // namespace

TEST_CASE("OpenSSH derives the same public line from the private key", "[net]") {
    const net::SshKeys keys = net::make_ssh_key_pair().value();
    CHECK(keys.private_pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
    CHECK(keys.private_pem.ends_with("-----END EC PRIVATE KEY-----\n"));
    CHECK(keys.public_line.starts_with("ecdsa-sha2-nistp521 "));
    CHECK(public_line_by_openssh(keys.private_pem) == keys.public_line);
}

TEST_CASE("two SSH keys differ", "[net]") {
    const net::SshKeys one = net::make_ssh_key_pair().value();
    const net::SshKeys other = net::make_ssh_key_pair().value();
    CHECK(one.private_pem != other.private_pem);
    CHECK(one.public_line != other.public_line);
}

TEST_CASE("the two parts of a CURVE key match", "[net]") {
    const net::CurveKeys one = net::make_curve_key_pair().value();
    const net::CurveKeys other = net::make_curve_key_pair().value();
    CHECK(one.public_key.size() == 32);
    CHECK(one.secret_key.size() == 32);
    CHECK(one.secret_key != other.secret_key);
    CHECK(one.public_key != other.public_key);
    const std::string shared = shared_secret(one.secret_key, other.public_key);
    CHECK_FALSE(shared.empty());
    CHECK(shared == shared_secret(other.secret_key, one.public_key));
}
