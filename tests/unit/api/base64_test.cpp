#include "api/base64.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("base64 matches the vectors of RFC 4648", "[api]") {
    const std::pair<const char*, const char*> vectors[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (const auto& [bytes, text] : vectors) {
        CHECK(to_base64(bytes) == text);
        CHECK(*from_base64(text) == bytes);
    }
}

TEST_CASE("base64 restores every byte, at every length", "[api]") {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        CHECK(*from_base64(to_base64(bytes)) == bytes);
        bytes += static_cast<char>(i * 37);
    }
}

TEST_CASE("base64 may be broken into lines", "[api]") {
    CHECK(*from_base64("Zm9v\nYmFy\r\n") == "foobar");
    CHECK(*from_base64("Zg=\n=") == "f");
}

TEST_CASE("text that is not base64 is refused", "[api]") {
    for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "=", "====", "Z===", "Zg==Zg==", "Zm9v Zg==",
                             "Zm9-", "Zm9_", "Zm\xC3\xA9v", "Zm8==", "Zm=v"}) {
        INFO(text);
        CHECK(from_base64(text).has_error());
    }
    CHECK(from_base64(std::string_view("Zm\0v", 4)).has_error());
    CHECK(from_base64("Zm9vY!==").error().message ==
          "not base64 at byte 5: a character that does not belong there");
}

TEST_CASE("the alphabet for URLs has other signs and no padding", "[api]") {
    CHECK(*api::from_base64url("") == "");
    CHECK(*api::from_base64url("Zg") == "f");
    CHECK(*api::from_base64url("Zm8") == "fo");
    CHECK(*api::from_base64url("Zm9v") == "foo");
    CHECK(*api::from_base64url("-_-_") == "\xFB\xFF\xBF");
    for (const char* text : {"Z", "Zg==", "+/+/", "Zm9v\n", "Zm9vY", "Zm9v Zg", "Zm\xC3\xA9v"}) {
        INFO(text);
        CHECK(api::from_base64url(text).has_error());
    }
}
