#include "client/server_url.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

TEST_CASE("server URLs are split into their parts", "[kube]") {
    struct Case {
        const char* text;
        bool tls;
        const char* host;
        const char* port;
        const char* path;
    };
    const Case cases[] = {
        {"https://10.0.0.1:6443", true, "10.0.0.1", "6443", ""},
        {"https://kube.example", true, "kube.example", "443", ""},
        {"http://localhost:8001/", false, "localhost", "8001", ""},
        {"http://localhost", false, "localhost", "80", ""},
        {"https://[::1]:6443", true, "::1", "6443", ""},
        {"https://[fd00::1]", true, "fd00::1", "443", ""},
        {"https://rancher.example/k8s/clusters/c-1/", true, "rancher.example", "443", "/k8s/clusters/c-1"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.text) {
            const auto url = kube::parse_server_url(c.text);
            REQUIRE(url);
            CHECK(url->tls == c.tls);
            CHECK(url->host == c.host);
            CHECK(url->port == c.port);
            CHECK(url->path == c.path);
        }
    }
}

TEST_CASE("an error about a server URL names the reason", "[kube]") {
    for (const char* text : {"", "10.0.0.1:6443", "ftp://x", "https://", "https://:6443",
                             "https://x:", "https://x:0", "https://x:65536", "https://x:6443a",
                             "https://[::1", "https://[::1]6443", "https://x?y=z", "https://user:secret@x"}) {
        DYNAMIC_SECTION("\"" << text << "\"") {
            const auto url = kube::parse_server_url(text);
            REQUIRE(!url);
            CHECK(url.error().message.find("secret") == std::string::npos);
            CHECK(!url.error().message.empty());
        }
    }
}
