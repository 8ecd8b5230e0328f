#include "net/tls/digest.hpp"

#include <catch2/catch.hpp>

// FIPS 180-4.
TEST_CASE("a digest is written as SHA-256 in hex", "[net]") {
    CHECK(net::digest_text("abc") ==
          "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(net::digest_text("") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
