#include "kube/client/namespaces.hpp"

#include <catch2/catch.hpp>

#include "net/process/options.hpp"
#include "support/printers.hpp"

namespace {

// Returns what --help prints, "ok", or the error.
std::string parse(kube::Namespaces& namespaces, const std::vector<const char*>& arguments) {
    net::Options options("prog", "Does things.", "1.2.3");
    kube::add_namespaces(options, namespaces);
    const auto parsed = options.parse(arguments);
    return parsed ? parsed->value_or("ok") : parsed.error().message;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("without --namespaces all namespaces are watched", "[kube]") {
    kube::Namespaces namespaces;
    CHECK(parse(namespaces, {}) == "ok");
    CHECK(!namespaces.is_limited());
    CHECK(namespaces.contains("a"));
    CHECK(namespaces.contains(""));
    CHECK(namespaces.partitions() == Names{""});
    const auto help = parse(namespaces, {"--help"});
    CHECK(help.find("--namespaces LIST") != std::string::npos);
    CHECK(help.find("after all (default") == std::string::npos);
}

TEST_CASE("with --namespaces only those are watched", "[kube]") {
    for (const std::vector<const char*>& arguments : {std::vector<const char*>{"--namespaces=team-a,b2"},
                                                      {"--namespaces", "team-a", "--namespaces=b2"}}) {
        kube::Namespaces namespaces;
        CHECK(parse(namespaces, arguments) == "ok");
        CHECK(namespaces.is_limited());
        CHECK(namespaces.partitions() == Names{"team-a", "b2"});
        CHECK(namespaces.contains("b2"));
        for (const char* other : {"", "b", "team-a,b2", "kube-system"}) CHECK(!namespaces.contains(other));
        CHECK(to_string(namespaces) == "team-a, b2");
        CHECK(show_option(namespaces) == "team-a,b2");
    }
}

TEST_CASE("invalid lists of namespaces are refused", "[kube]") {
    const std::string long_name(64, 'a');
    const std::string empty = "must be names of namespaces separated by commas, none of them empty";
    const auto no_name = [](const std::string& name) {
        return "no namespace can be named \"" + name +
               "\": names have a-z, 0-9 and hyphens in between, at most 63";
    };
    const std::pair<std::string, std::string> cases[] = {
        {"", "must name at least one namespace; for all of them, leave the option away"},
        {",", empty},
        {"a,", empty},
        {",a", empty},
        {"a,,b", empty},
        {"a, b", no_name(" b")},
        {"Team", no_name("Team")},
        {"-a", no_name("-a")},
        {"a-", no_name("a-")},
        {"a/b", no_name("a/b")},
        {"a.b", no_name("a.b")},
        {"*", no_name("*")},
        {"b,a,b", "must name each namespace once: \"b\" is there twice"},
        {long_name, no_name(long_name)},
    };
    for (const auto& [text, error] : cases) {
        kube::Namespaces namespaces;
        const std::string argument = "--namespaces=" + text;
        CHECK(parse(namespaces, {argument.c_str()}) == argument + ": " + error);
        CHECK(!namespaces.is_limited());
    }
    kube::Namespaces namespaces;
    CHECK(parse(namespaces, {"--namespaces=a", "--namespaces=a"}) ==
          "--namespaces=a,a: must name each namespace once: \"a\" is there twice");
}
