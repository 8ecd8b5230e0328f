#include "net/process/options.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "net/process/run_main.hpp"

using namespace std::chrono_literals;

namespace {

enum class When { always, on_failure };

struct Settings {
    net::HostPort listen{.host = "::", .port = 9443};
    std::string file = {};
    api::ObjectKey lease = {};
    net::ByteCount size{512 * 1024};
    bool elect = true;
    bool quiet = false;
    int concurrency = 64;
    std::uint16_t small = 1;
    double qps = 0;
    std::chrono::seconds period{90};
    std::chrono::milliseconds pause{250};
    When when = When::always;
    net::LogLevel level = net::LogLevel::info;
    net::FeatureGates gates = {};

    net::Options options() {
        net::Options table("prog", "Does things.", "1.2.3");
        table.add("listen", "HOST:PORT", listen, "where to listen");
        table.add("file", "FILE", file, "what to read");
        table.add("lease", "NS/NAME", lease, "the Lease of the leader");
        table.add("size", "BYTES", size, "how much");
        table.add("leader-elect", elect, "whether to elect");
        table.add("quiet", quiet, "say less");
        table.add("concurrency", "N", concurrency, "how many at a time");
        table.add("small", "N", small, "a small number");
        table.add("qps", "N", qps, "how fast");
        table.add("period", "DURATION", period, "how often");
        table.add("pause", "DURATION", pause, "how long");
        table.add_choice<When>("when", when, {{"always", When::always}, {"on-failure", When::on_failure}},
                               "when to");
        table.add("log-level", "LEVEL", level, "how much to say");
        table.add_list("feature-gates", "LIST", gates, "what to try");
        return table;
    }
};

// Returns "ok", the text to print, or the error.
std::string parse(Settings& settings, const std::vector<const char*>& arguments) {
    auto options = settings.options();
    const auto parsed = options.parse(arguments);
    return parsed ? parsed->value_or("ok") : parsed.error().message;
}

struct TemporaryFile {
    explicit TemporaryFile(const std::string& text) {
        char name[] = "/tmp/signalbox-options-XXXXXX";
        ::close(::mkstemp(name));
        path = name;
        std::ofstream(path) << text;
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
    std::string path;
};

}  // namespace

TEST_CASE("options set variables", "[net]") {
    Settings s;
    CHECK(parse(s, {"--listen", "[::1]:0",         "--file=a=b",
                    "--lease",  "ns/name",         "--leader-elect=false",
                    "--quiet",  "--concurrency=8", "--small",
                    "65535",    "--qps",           "2.5",
                    "--period", "1m30s",           "--pause=1s500ms",
                    "--when",   "on-failure",      "--log-level",
                    "debug",    "--feature-gates", "A=true,B=false"}) == "ok");
    CHECK(s.listen == net::HostPort{"::1", 0});
    CHECK(s.file == "a=b");
    CHECK(s.lease == api::ObjectKey{"ns", "name"});
    CHECK_FALSE(s.elect);
    CHECK(s.quiet);
    CHECK(s.concurrency == 8);
    CHECK(s.small == 65535);
    CHECK(s.qps == 2.5);
    CHECK(s.period == 90s);
    CHECK(s.pause == 1500ms);
    CHECK(s.when == When::on_failure);
    CHECK(s.level == net::LogLevel::debug);
    CHECK(s.gates == net::FeatureGates{{"A", true}, {"B", false}});
}

TEST_CASE("a value may be empty, and another option is not taken as a value", "[net]") {
    Settings s;
    s.file = "x";
    CHECK(parse(s, {"--file=", "--quiet"}) == "ok");
    CHECK(s.file.empty());
    CHECK(s.quiet);
}

TEST_CASE("a usage error is one line with the allowed values", "[net]") {
    struct Case {
        std::vector<const char*> arguments;
        const char* error;
    };
    const Case cases[] = {
        {{"--lisen", ":1"}, "unknown option --lisen: did you mean --listen?"},
        {{"--something-else"}, "unknown option --something-else: --help lists the options"},
        {{"listen"}, "unexpected argument \"listen\": did you mean --listen?"},
        {{"something"}, "unexpected argument \"something\": options begin with --"},
        {{"--"}, "unexpected argument \"--\": options begin with --"},
        {{"-x"}, "unexpected argument \"-x\": options begin with --"},
        {{"--listen"}, "--listen needs a value: HOST:PORT"},
        {{"--listen=host"}, "--listen=host: must be HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or :8080"},
        {{"--listen=::1:80"},
         "--listen=::1:80: must be HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or :8080"},
        {{"--listen=a:65536"},
         "--listen=a:65536: must be HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or :8080"},
        {{"--lease=a"}, "--lease=a: must be NAMESPACE/NAME"},
        {{"--lease=a/"}, "--lease=a/: must be NAMESPACE/NAME"},
        {{"--lease=a/b/c"}, "--lease=a/b/c: must be NAMESPACE/NAME"},
        {{"--size=-1"}, "--size=-1: must be a number of bytes, such as 65536, 512Ki or 1Mi"},
        {{"--size=Ki"}, "--size=Ki: must be a number of bytes, such as 65536, 512Ki or 1Mi"},
        {{"--size=1KB"}, "--size=1KB: must be a number of bytes, such as 65536, 512Ki or 1Mi"},
        {{"--size=1048577Gi"}, "--size=1048577Gi: must be a number of bytes, such as 65536, 512Ki or 1Mi"},
        {{"--quiet=maybe"}, "--quiet=maybe: must be one of true, false"},
        {{"--quiet", "true"}, "unexpected argument \"true\": options begin with --"},
        {{"--concurrency=8x"}, "--concurrency=8x: must be a whole number from -2147483648 to 2147483647"},
        {{"--small=65536"}, "--small=65536: must be a whole number from 0 to 65535"},
        {{"--small="}, "--small=: must be a whole number from 0 to 65535"},
        {{"--qps=-1"}, "--qps=-1: must be a number of at least 0"},
        {{"--qps=nan"}, "--qps=nan: must be a number of at least 0"},
        {{"--period=5"}, "--period=5: must be a duration, such as 30s, 1m30s, 250ms or 2h"},
        {{"--period=5d"}, "--period=5d: must be a duration, such as 30s, 1m30s, 250ms or 2h"},
        {{"--period=99999999999999h"},
         "--period=99999999999999h: must be a duration, such as 30s, 1m30s, 250ms or 2h"},
        {{"--period=250ms"}, "--period=250ms: must be a duration in whole seconds, such as 30s or 1m30s"},
        {{"--when=never"}, "--when=never: must be one of always, on-failure"},
        {{"--log-level=loud"}, "--log-level=loud: must be one of debug, info, warn, error"},
        {{"--feature-gates=A"},
         "--feature-gates=A: must be a list of NAME=true or NAME=false, separated by commas"},
        {{"--config"}, "--config needs a value: FILE"},
        {{"--config=/no/such/file"},
         "--config: /no/such/file does not exist: create it or name another file"},
    };
    for (const auto& c : cases) {
        Settings s;
        CHECK(parse(s, c.arguments) == c.error);
    }
}

TEST_CASE("a list may be given in parts, and of other values the last one counts", "[net]") {
    Settings s;
    CHECK(parse(s, {"--feature-gates=A=true", "--small=1", "--feature-gates", "B=true,A=false",
                    "--small=2"}) == "ok");
    CHECK(s.gates == net::FeatureGates{{"A", false}, {"B", true}});
    CHECK(s.small == 2);
    CHECK(parse(s, {"--feature-gates=A=true", "--feature-gates=B"}) ==
          "--feature-gates=A=true,B: must be a list of NAME=true or NAME=false, separated by commas");
}

TEST_CASE("addresses are read with and without a host", "[net]") {
    const std::pair<const char*, net::HostPort> cases[] = {
        {"127.0.0.1:80", {"127.0.0.1", 80}}, {":80", {"::", 80}},    {"[::]:80", {"::", 80}},
        {"localhost:0", {"localhost", 0}},   {"8080", {"::", 8080}}, {"0", {"::", 0}},
    };
    for (const auto& [text, want] : cases) {
        net::HostPort address;
        CHECK(net::read_option(text, address).has_value());
        CHECK(address == want);
        net::HostPort again;
        CHECK(net::read_option(net::to_string(address), again).has_value());
        CHECK(again == want);
    }
}

TEST_CASE("the configuration file has the same names, and the command line overrides it", "[net]") {
    const TemporaryFile file(
        "listen: 127.0.0.1:1\nleader-elect: false\nconcurrency: 7\nqps: 1.5\nwhen: on-failure\n"
        "feature-gates:\n  A: true\n  B: false\n");
    Settings s;
    auto options = s.options();
    const std::vector<const char*> arguments = {"--concurrency=9", "--config", file.path.c_str()};
    CHECK_FALSE(options.parse(arguments).value().has_value());
    CHECK(s.listen == net::HostPort{"127.0.0.1", 1});
    CHECK_FALSE(s.elect);
    CHECK(s.concurrency == 9);
    CHECK(s.qps == 1.5);
    CHECK(s.when == When::on_failure);
    CHECK(s.gates == net::FeatureGates{{"A", true}, {"B", false}});
    CHECK(options.given("listen"));
    CHECK(options.given("concurrency"));
    CHECK_FALSE(options.given("quiet"));
}

TEST_CASE("a list in the configuration file is a YAML list or a text, and the command line replaces it",
          "[net]") {
    for (const char* text : {"feature-gates: [A=true, B=false]\n", "feature-gates: A=true,B=false\n"}) {
        const TemporaryFile file(text);
        Settings s;
        CHECK(parse(s, {"--config", file.path.c_str()}) == "ok");
        CHECK(s.gates == net::FeatureGates{{"A", true}, {"B", false}});
        CHECK(parse(s, {"--config", file.path.c_str(), "--feature-gates=C=true"}) == "ok");
        CHECK(s.gates == net::FeatureGates{{"C", true}});
    }
}

TEST_CASE("errors of the configuration file have their place", "[net]") {
    const std::pair<const char*, const char*> cases[] = {
        {"lisen: :1\n", ": unknown option lisen: did you mean listen?"},
        {"concurrency: many\n", ": concurrency: must be a whole number"},
        {"listen: [a, b]\n", ": listen: must be a single value"},
        {"listen:\n", ": listen: must be a single value"},
        {"feature-gates: [A=true, [B=true]]\n", ": feature-gates: must be a single value"},
        {"feature-gates: [\"\", A=true]\n", ": feature-gates: must be a list of NAME=true"},
        {"- listen\n", " must be a YAML map of option names to values"},
        {"a: [\n", ""},
    };
    for (const auto& [text, want] : cases) {
        const TemporaryFile file(text);
        Settings s;
        const auto error = parse(s, {"--config", file.path.c_str()});
        CHECK(error.find(file.path) != std::string::npos);
        INFO(error);
        CHECK(error.find(want) != std::string::npos);
    }
    const TemporaryFile empty("");
    Settings s;
    CHECK(parse(s, {"--config", empty.path.c_str()}) == "ok");
}

TEST_CASE("help lists every option with its default", "[net]") {
    Settings s;
    const auto help = parse(s, {"--help"});
    CHECK(help.starts_with("Usage: prog [options]\n\nDoes things.\n\n"));
    CHECK(help.find("  --listen HOST:PORT              where to listen (default [::]:9443)\n") !=
          std::string::npos);
    CHECK(help.find("  --leader-elect[=bool]           whether to elect (default true)\n") !=
          std::string::npos);
    CHECK(help.find("  --quiet[=bool]                  say less\n") != std::string::npos);
    CHECK(help.find("  --period DURATION               how often (default 1m30s)\n") != std::string::npos);
    CHECK(help.find("  --when always|on-failure        when to (default always)\n") != std::string::npos);
    CHECK(help.find("--config FILE") != std::string::npos);
    CHECK(parse(s, {"--version"}) == "prog 1.2.3\n");
    CHECK(parse(s, {"--nonsense", "--help"}) != help);
}

TEST_CASE("run_main() returns the right exit status", "[net]") {
    const auto status = [](std::vector<const char*> arguments, const std::function<api::Result<>()>& body) {
        Settings s;
        auto options = s.options();
        arguments.insert(arguments.begin(), "prog");
        return net::run_main(options, static_cast<int>(arguments.size()), arguments.data(), body);
    };
    const auto good = [] { return api::Result<>(); };
    CHECK(status({}, good) == 0);
    CHECK(status({"--nonsense"}, good) == 2);
    CHECK(status({"--version"}, []() -> api::Result<> { throw std::logic_error("not to be called"); }) == 0);
    CHECK(status({}, []() -> api::Result<> { return api::invalid("", "broken:\nmend it"); }) == 1);
    CHECK(status({}, []() -> api::Result<> { throw std::runtime_error("odd"); }) == 1);
    CHECK(status({}, []() -> api::Result<> { throw 1; }) == 1);
}

TEST_CASE("options have short names, and some may be given several times", "[net]") {
    struct Case {
        std::vector<const char*> arguments;
        std::vector<std::string> files;
        const char* result;
    };
    const Case cases[] = {
        {{"-f", "a", "-fb", "-f=c", "--filename", "d"}, {"a", "b", "c", "d"}, "ok"},
        {{"-f", "-", "-q"}, {"-"}, "ok"},
        {{"-f"}, {}, "-f needs a value: FILE"},
        {{"-x", "a"}, {}, "unexpected argument \"-x\": options begin with --"},
        {{"job.yaml"}, {}, "unexpected argument \"job.yaml\": did you mean -f job.yaml?"},
        {{"quiet"}, {}, "unexpected argument \"quiet\": did you mean --quiet?"},
    };
    for (const Case& c : cases) {
        std::vector<std::string> files;
        bool quiet = false;
        net::Options options("prog", "Does things.", "1.2.3");
        options.add("filename", "FILE", files, "what to read");
        options.shorten("filename", 'f');
        options.add("quiet", quiet, "say less");
        options.shorten("quiet", 'q');
        const auto parsed = options.parse(c.arguments);
        CHECK((parsed ? "ok" : parsed.error().message) == c.result);
        CHECK(files == c.files);
        CHECK(options.help().find("  -f, --filename FILE ") != std::string::npos);
        CHECK(options.help().find("  -q, --quiet[=bool] ") != std::string::npos);
    }
}

TEST_CASE("help lists the commands, and so does the error for a misspelt one", "[net]") {
    net::Options options("prog", "Does things.", "1.2.3");
    options.add_command("check", "look at files");
    CHECK(
        options.help().starts_with("Usage: prog [options]\n       prog check [options]\n\nDoes things.\n\n"));
    CHECK(options.help().find("  check                           look at files\n") != std::string::npos);
    const auto refusal = [&](const char* word) {
        const std::vector<const char*> arguments = {word};
        return options.parse(arguments).error().message;
    };
    CHECK(refusal("chek") == "unexpected argument \"chek\": did you mean check?");
    CHECK(refusal("help") == "unexpected argument \"help\": did you mean --help?");
    CHECK(refusal("apply") ==
          "unexpected argument \"apply\": options begin with --, and --help lists the commands");
    options.add_command("show", "look at one", "NAME");
    CHECK(options.help().find("\n       prog show NAME [options]\n") != std::string::npos);
}

TEST_CASE("one argument without a name can be required", "[net]") {
    struct Case {
        std::vector<const char*> arguments;
        const char* result;
    };
    const Case cases[] = {
        {{"a/b"}, "a/b"},
        {{"-q", "a/b"}, "a/b"},
        {{"a/b", "--quiet"}, "a/b"},
        {{}, "NAMESPACE/NAME is missing: what to show"},
        {{"--quiet"}, "NAMESPACE/NAME is missing: what to show"},
        {{"a/b", "c/d"}, "unexpected argument \"c/d\": only one NAMESPACE/NAME can be given"},
        {{"a"}, "a: must be NAMESPACE/NAME"},
        {{"-x"}, "unexpected argument \"-x\": options begin with --"},
    };
    for (const Case& c : cases) {
        api::ObjectKey key;
        bool quiet = false;
        net::Options options("prog show", "Shows.", "1.2.3");
        options.add_argument("NAMESPACE/NAME", key, "what to show");
        options.add("quiet", quiet, "say less");
        options.shorten("quiet", 'q');
        const auto parsed = options.parse(c.arguments);
        CHECK((parsed ? to_string(key) : parsed.error().message) == c.result);
        CHECK(options.help().starts_with("Usage: prog show NAMESPACE/NAME [options]\n"));
        CHECK(options.help().find("  NAMESPACE/NAME                  what to show\n") != std::string::npos);
    }
}

TEST_CASE("any number of arguments without a name may stand among the options", "[net]") {
    for (const std::vector<const char*>& given :
         {std::vector<const char*>{}, {"a"}, {"a", "-q", "b,c"}, {"--quiet", "a", "b", "c"}}) {
        std::vector<std::string> names;
        bool quiet = false;
        net::Options options("prog end", "Ends.", "1.2.3");
        options.add_arguments("NAME...", names, "what to end");
        options.add("quiet", quiet, "say less");
        options.shorten("quiet", 'q');
        REQUIRE(options.parse(given).has_value());
        std::vector<std::string> want;
        for (const std::string argument : given)
            if (!argument.starts_with('-')) want.push_back(argument);
        CHECK(names == want);
        CHECK(options.help().starts_with("Usage: prog end NAME... [options]\n"));
    }
}

TEST_CASE("help shows examples with explanations", "[net]") {
    net::Options options("prog end", "Ends.", "1.2.3");
    options.add_example("prog end a", "Ends a.");
    CHECK(options.help().find("Ends.\n\nExamples:\n  prog end a\n      Ends a.\n\n") != std::string::npos);
}

TEST_CASE("a number of bytes is read with its unit and shown with the largest one", "[options]") {
    const std::tuple<const char*, std::int64_t, const char*> rows[] = {{"0", 0, "0"},
                                                                       {"1000", 1000, "1000"},
                                                                       {"512Ki", 524'288, "512Ki"},
                                                                       {"1024Ki", 1 << 20, "1Mi"},
                                                                       {"3Mi", 3 << 20, "3Mi"},
                                                                       {"2Gi", std::int64_t(2) << 30, "2Gi"}};
    for (const auto& [text, bytes, shown] : rows) {
        CAPTURE(text);
        Settings s;
        CHECK(parse(s, {"--size", text}) == "ok");
        CHECK(s.size.bytes == bytes);
        CHECK(net::show_option(s.size) == shown);
    }
}
