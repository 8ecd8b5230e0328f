#include "certificate/rotator.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "api/base64.hpp"
#include "net/process/task_group.hpp"
#include "net/tls/certificate.hpp"
#include "support/fake_api_server.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;

namespace {

const std::string validating =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.trainer.kubeflow.org";
const std::string mutating =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/defaulter.trainer.kubeflow.org";
const std::string secret = "/api/v1/namespaces/ns/secrets/cert";

Json configuration(const std::string& path, int webhooks) {
    const auto name = path.substr(path.rfind('/') + 1);
    Json made = Json::object({{"metadata", Json::object({{"name", name}})}, {"webhooks", Json::array()}});
    for (int i = 0; i < webhooks; ++i)
        made["webhooks"].push_back(*api::parse_json(
            R"({"name": "w", "clientConfig": {"service": {"name": "hook", "namespace": "ns", "path": "/x"}},
                "matchConditions": [{"name": "a", "expression": "true"}]})"));
    made["webhooks"].push_back(
        *api::parse_json(R"({"name": "other", "clientConfig": {"url": "https://x"}})"));
    return made;
}

// Objects with resource versions, as the API server stores them.
class Cluster {
public:
    std::map<std::string, Json> objects = {{validating, configuration(validating, 3)},
                                           {mutating, configuration(mutating, 1)}};
    std::vector<std::string> writes = {};
    /// Called between a read and its answer.
    std::function<void(const kube::Request&)> meanwhile = [](auto&) {};

    api::Result<kube::Response> answer(const kube::Request& request) {
        meanwhile(request);
        const std::string path = request.target.substr(0, request.target.find('?'));
        const auto at = objects.find(path);
        if (request.method == "GET") {
            if (at == objects.end()) return refusal(404, api::Errc::not_found);
            return kube::Response{.body = api::to_json(at->second)};
        }
        Json body = *api::parse_json(request.body);
        const auto given = std::string(std::as_const(body)["metadata"]["resourceVersion"].as_string());
        if (request.method == "PUT" && at == objects.end()) return refusal(404, api::Errc::not_found);
        // A Secret of another field manager: an apply without force does not take it over.
        if (request.method == "PATCH" && at != objects.end()) return refusal(409, api::Errc::conflict);
        if (request.method == "PUT" && given != version_of(at->second))
            return refusal(409, api::Errc::conflict);
        writes.push_back(request.method + " " + path.substr(path.rfind('/') + 1));
        put(path, std::move(body));
        return kube::Response{.body = api::to_json(objects[path])};
    }
    void put(const std::string& path, Json object) {
        if (path == secret) remember(object);
        object["metadata"]["resourceVersion"] = std::to_string(++version_);
        objects[path] = std::move(object);
    }
    std::string bundle(const std::string& path, std::size_t webhook = 0) const {
        const auto& object = objects.at(path);
        return *api::from_base64(object["webhooks"][webhook]["clientConfig"]["caBundle"].as_string());
    }
    std::string stored(const char* name) const {
        return *api::from_base64(objects.at(secret)["data"][name].as_string());
    }

    int version() const { return version_; }
    /// Returns whether all API servers trust the stored certificate that ends at that time.
    bool trusts(api::Time end) const {
        for (const auto& path : {validating, mutating}) {
            const auto authorities = net::split_certificates(bundle(path));
            const auto issued = [&](const std::string& ca) {
                return net::is_issued_by(certificates_.at(end), ca);
            };
            if (!authorities || std::ranges::none_of(*authorities, issued)) return false;
        }
        return true;
    }

private:
    void remember(const Json& object) {
        const auto pem = api::from_base64(object["data"]["tls.crt"].as_string());
        if (const auto facts = net::certificate_fields(*pem)) certificates_[facts->not_after] = *pem;
    }
    std::map<api::Time, std::string> certificates_ = {};
    static std::string version_of(const Json& object) {
        return std::string(object["metadata"]["resourceVersion"].as_string());
    }
    int version_ = 0;
};

net::TlsIdentity stand_in() {
    const auto now = api::Time(0s);
    return net::make_self_signed({.not_before = now, .not_after = now + 1h, .dns_names = {"x"}}).identity;
}

// As `clock`, except for the time of day.
class SkewedClock final : public kube::Clock {
public:
    SkewedClock(VirtualClock& clock, std::chrono::seconds skew) : clock_(clock), skew_(skew) {}
    kube::SteadyTime now() const override { return clock_.now(); }
    kube::MicroTime wall() const override { return clock_.wall() + skew_; }
    double jitter() override { return clock_.jitter(); }
    kube::Task<> sleep_until(kube::SteadyTime when) override { return clock_.sleep_until(when); }

private:
    VirtualClock& clock_;
    std::chrono::seconds skew_;
};

struct Traits {
    std::chrono::seconds lifetime = 1000s;
    std::string client_ca_file = {};
    std::chrono::seconds skew = 0s;
};

// One process of the webhook.
struct Replica {
    Replica(boost::asio::io_context& context, VirtualClock& the_clock, Cluster& cluster, std::string name,
            const Traits& traits)
        : clock(the_clock),
          own_clock(the_clock, traits.skew),
          tasks(context.get_executor()),
          tls(net::Tls::make(stand_in()).value()),
          signer(server, own_clock,
                 {{"ns", "cert"}, {"ns", "hook"}, traits.lifetime, traits.client_ca_file, std::move(name)},
                 *tls, log) {
        server.answer = [&cluster](const kube::Request& request) { return cluster.answer(request); };
        tasks.start(signer.run(), [](const std::exception_ptr&) {});
    }

    VirtualClock& clock;
    SkewedClock own_clock;
    FakeApiServer server{clock};
    std::string lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](auto line) { lines += line; }};
    net::TaskGroup tasks;
    std::shared_ptr<net::Tls> tls;
    webhook::CertificateRotator signer;
};

struct World {
    boost::asio::io_context context{1};
    VirtualClock clock{context};
    Cluster cluster = {};
    std::vector<std::unique_ptr<Replica>> replicas = {};

    Replica& start(std::string name = "one", const Traits& traits = {}) {
        replicas.push_back(std::make_unique<Replica>(context, clock, cluster, std::move(name), traits));
        return *replicas.back();
    }
    ~World() {
        for (const auto& replica : replicas) replica->tasks.cancel();
        clock.run();
    }
    api::Time now() const { return std::chrono::floor<std::chrono::seconds>(clock.wall()); }
    /// Moves time, and checks that no process presents a certificate that is not trusted.
    void run_trusted_for(std::chrono::seconds duration) {
        std::set<std::pair<int, api::Time>> seen;
        for (auto end = clock.now() + duration; clock.now() < end;) {
            clock.run_for(100ms);
            for (const auto& replica : replicas) {
                const auto shown = replica->tls->not_after();
                if (!replica->signer.in_use() || !seen.emplace(cluster.version(), shown).second) continue;
                CAPTURE(clock.now() - VirtualClock::start);
                REQUIRE(cluster.trusts(shown));
            }
        }
    }
};

bool holds(const std::string& bundle, const std::string& authority) {
    return bundle.find(authority) != std::string::npos;
}

}  // namespace

TEST_CASE("a first start stores a certificate, writes the configurations, and then presents it",
          "[rotator]") {
    World world;
    const auto before = world.cluster.objects;
    auto& replica = world.start();
    world.clock.run_for(1s);
    for (const auto& path : {validating, mutating}) {
        Json after = world.cluster.objects[path];
        after["metadata"].erase("resourceVersion");
        for (Json& webhook : after["webhooks"].items()) webhook["clientConfig"].erase("caBundle");
        CHECK(after == before.at(path));
    }
    CHECK(world.cluster.writes == std::vector<std::string>{"PATCH cert", "PUT validator.trainer.kubeflow.org",
                                                           "PUT defaulter.trainer.kubeflow.org"});
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(world.cluster.bundle(validating, i) == world.cluster.stored("ca.crt"));
    CHECK(world.cluster.bundle(mutating) == world.cluster.stored("ca.crt"));
    CHECK(
        std::as_const(world.cluster.objects[mutating])["webhooks"][1]["clientConfig"]["caBundle"].is_null());
    CHECK(net::is_issued_by(world.cluster.stored("tls.crt"), world.cluster.stored("ca.crt")));
    // API servers need time to read a new CA.
    CHECK_FALSE(replica.signer.in_use());
    world.clock.run_for(11s);
    CHECK(replica.signer.in_use());
    CHECK(replica.tls->not_after() == world.now() - 12s + 1000s);
}

TEST_CASE("a replica that starts later uses the stored certificate at once, and writes nothing",
          "[rotator]") {
    World world;
    world.start();
    world.clock.run_for(2min);
    world.cluster.writes.clear();
    auto& late = world.start("two");
    world.clock.run();
    CHECK(late.signer.in_use());
    CHECK(world.cluster.writes.empty());
}

TEST_CASE("a rotation keeps the former CA trusted, and presents the new certificate only afterwards",
          "[rotator]") {
    World world;
    auto& replica = world.start();
    world.clock.run_for(1min);
    const auto old_ca = world.cluster.stored("ca.crt");
    const auto old_end = replica.tls->not_after();
    world.clock.run_for(600s);
    CHECK(world.cluster.stored("ca.crt") == old_ca);
    // After two thirds of 1000 s.
    while (world.cluster.stored("ca.crt") == old_ca && world.now() < old_end) world.clock.run_for(100ms);
    CHECK(replica.tls->not_after() == old_end);
    const auto both = world.cluster.stored("ca.crt");
    CHECK(both.ends_with(old_ca));
    CHECK(both.size() > old_ca.size());
    world.clock.run_for(1s);
    CHECK(world.cluster.bundle(validating) == both);
    CHECK(world.cluster.bundle(mutating) == both);
    CHECK(replica.tls->not_after() == old_end);
    world.clock.run_for(12s);
    CHECK(replica.tls->not_after() > old_end);
}

TEST_CASE("expired CAs are removed from the bundle", "[rotator]") {
    World world;
    world.start();
    world.clock.run_for(48min);  // four renewals
    const auto authorities = net::split_certificates(world.cluster.stored("ca.crt"));
    REQUIRE(authorities);
    CHECK(authorities->size() == 2);
}

TEST_CASE("replicas that start together use one certificate", "[rotator]") {
    World world;
    world.start("one");
    world.start("two");
    world.start("three");
    world.clock.run_for(1min);
    CHECK(std::ranges::count(world.cluster.writes, "PATCH cert") == 1);
    CHECK(std::ranges::count(world.cluster.writes, "PUT cert") == 0);
    for (const auto& replica : world.replicas) {
        CHECK(replica->signer.in_use());
        CHECK(replica->tls->not_after() == world.replicas[0]->tls->not_after());
    }
    world.cluster.writes.clear();
    world.clock.run_for(1000s);
    CHECK(std::ranges::count(world.cluster.writes, "PUT cert") == 1);
    CHECK(std::ranges::count(world.cluster.writes, "PUT validator.trainer.kubeflow.org") == 1);
}

TEST_CASE("a replica with an old read does not undo a newer write", "[rotator]") {
    World world;
    auto& slow = world.start();
    world.clock.run_for(1min);
    // Another replica rotates, and writes the configurations, after this one's read of these and before that
    // of the Secret, in either order.
    Json renewed = world.cluster.objects[secret];
    const webhook::CertificateWishes wishes = {.dns_names = {"hook.ns.svc", "hook.ns.svc.cluster.local"},
                                               .lifetime = 1000s};
    const auto made = webhook::make_serving_certificate(world.cluster.stored("ca.crt"), wishes, world.now());
    webhook::store(made, renewed);
    bool done = false;
    world.cluster.meanwhile = [&](const kube::Request& request) {
        if (done || request.target.find("secrets") == std::string::npos) return;
        done = true;
        world.cluster.put(secret, renewed);
        for (const auto& path : {validating, mutating}) {
            Json configured = world.cluster.objects[path];
            webhook::fill_ca_bundle(configured, {"ns", "hook"}, made.ca_bundle,
                                    webhook::HeldAuthorities::drop, world.now());
            world.cluster.put(path, configured);
        }
    };
    world.clock.run_for(2min);
    REQUIRE(done);
    CHECK(world.cluster.stored("tls.crt") == made.identity.cert_pem);
    CHECK(world.cluster.bundle(validating) == made.ca_bundle);
    CHECK(slow.tls->not_after() == made.not_after);
}

TEST_CASE("a deleted or broken Secret is created again, and presented certificates stay trusted",
          "[rotator]") {
    struct Case {
        const char* name;
        void (*harm)(Cluster& cluster);
    };
    const Case cases[] = {
        {"deleted", [](Cluster& c) { c.objects.erase(secret); }},
        {"emptied",
         [](Cluster& c) {
             c.put(secret,
                   *api::parse_json(R"({"metadata": {"name": "cert", "namespace": "ns"}, "data": {}})"));
         }},
        {"broken",
         [](Cluster& c) {
             Json spoilt = c.objects[secret];
             spoilt["data"]["tls.key"] = "aGVsbG8=";
             c.put(secret, spoilt);
         }},
        {"another's", [](Cluster& c) {
             Json spoilt = c.objects[secret];
             webhook::store(webhook::make_serving_certificate("", {{"another.svc"}, 1h}, api::Time(0s)),
                            spoilt);
             c.put(secret, spoilt);
         }}};
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            World world;
            auto& replica = world.start();
            world.clock.run_for(1min);
            const auto shown_ca = world.cluster.stored("ca.crt");
            const auto shown_end = replica.tls->not_after();
            c.harm(world.cluster);
            // Until the replica notices, and from then on until the API servers have read it.
            for (int i = 0; i < 600 && replica.tls->not_after() == shown_end; ++i) {
                CHECK(world.cluster.bundle(validating).find(shown_ca) != std::string::npos);
                world.clock.run_for(200ms);
            }
            CHECK(replica.tls->not_after() > shown_end);
            CHECK(world.cluster.bundle(mutating) == world.cluster.stored("ca.crt"));
        }
    }
}

TEST_CASE("a replica that starts when the Secret has just been deleted leaves the others trusted",
          "[rotator]") {
    World world;
    auto& old = world.start();
    world.clock.run_for(1min);
    REQUIRE(old.signer.in_use());
    const std::string shown = world.cluster.stored("tls.crt");
    world.cluster.objects.erase(secret);
    world.start("new");
    world.clock.run_for(1s);
    REQUIRE(world.cluster.objects.contains(secret));
    bool trusted = false;
    for (const std::string& authority : net::split_certificates(world.cluster.bundle(validating)).value())
        trusted = trusted || net::is_issued_by(shown, authority);
    CHECK(trusted);
}

TEST_CASE("a replica that missed a renewal leaves replicas trusted that have not", "[rotator]") {
    World world;
    auto& first = world.start("one");
    auto& slow = world.start("two");
    world.run_trusted_for(60s);
    const auto connected = slow.server.answer;
    slow.server.answer = [](const kube::Request&) { return refusal(503, api::Errc::unavailable); };
    const auto old_end = first.tls->not_after();
    world.cluster.objects.erase(secret);
    world.run_trusted_for(60s);
    CHECK(first.tls->not_after() > old_end);
    CHECK(slow.tls->not_after() == old_end);
    // Neither the stored certificate nor the other replica exists any more.
    const auto connected_first = std::exchange(first.server.answer, slow.server.answer);
    world.cluster.objects.erase(secret);
    slow.server.answer = connected;
    world.run_trusted_for(25s);
    CHECK(slow.tls->not_after() > first.tls->not_after());
    first.server.answer = connected_first;
    world.run_trusted_for(60s);
    CHECK(slow.tls->not_after() == first.tls->not_after());
}

TEST_CASE(
    "when an older Secret is restored, presented certificates stay trusted until all present the older one",
    "[rotator]") {
    World world;
    auto& first = world.start("one");
    auto& second = world.start("two");
    world.run_trusted_for(60s);
    const Json older = world.cluster.objects[secret];
    const auto old_end = first.tls->not_after();
    world.cluster.objects.erase(secret);
    world.run_trusted_for(60s);
    CHECK(second.tls->not_after() > old_end);
    world.cluster.put(secret, older);
    world.run_trusted_for(60s);
    CHECK(first.tls->not_after() == old_end);
    CHECK(second.tls->not_after() == old_end);
    // Also when the older certificate is due for renewal.
    world.run_trusted_for(1000s);
    world.cluster.put(secret, older);
    world.run_trusted_for(60s);
}

TEST_CASE("a bundle has the eight newest CAs at most", "[rotator]") {
    World world;
    world.start();
    std::vector<std::string> authorities;
    for (int i = 0; i < 12; ++i) {
        world.cluster.objects.erase(secret);
        world.run_trusted_for(45s);
        authorities.push_back(net::split_certificates(world.cluster.stored("ca.crt"))->front());
    }
    for (const auto& bundle : {world.cluster.stored("ca.crt"), world.cluster.bundle(mutating)}) {
        CHECK(net::split_certificates(bundle)->size() == 8);
        for (int i = 0; i < 12; ++i) CHECK(holds(bundle, authorities[i]) == (i >= 4));
    }
}

TEST_CASE("a foreign CA in a configuration is removed, and written to no other configuration", "[rotator]") {
    World world;
    const auto others = net::make_self_signed(
        {.not_before = world.now() - 48h, .not_after = world.now() + 10000h, .dns_names = {"x"}});
    const auto trust_others = [&] {
        for (const auto& path : {validating, mutating}) {
            Json trusting = world.cluster.objects[path];
            Json& config = trusting["webhooks"].items()[0]["clientConfig"];
            const std::string held = world.cluster.bundle(path);
            config["caBundle"] = api::to_base64(held + others.ca_pem);
            world.cluster.put(path, trusting);
        }
    };
    const auto is_foreign = [&](const std::string& bundle) { return holds(bundle, others.ca_pem); };
    const auto is_gone = [&] {
        return !is_foreign(world.cluster.bundle(validating)) && !is_foreign(world.cluster.bundle(mutating));
    };
    trust_others();
    world.start("one");
    world.start("two");
    // The CA could be another replica's, which has the time of two rounds to store it.
    for (auto left = 65s; left > 0s; left -= 5s) {
        world.run_trusted_for(5s);
        CHECK_FALSE(is_foreign(world.cluster.stored("ca.crt")));
        CHECK_FALSE(is_foreign(world.cluster.bundle(validating, 1)));
    }
    world.run_trusted_for(30s);
    CHECK(is_gone());
    // Later at once, also when a renewal follows.
    trust_others();
    world.run_trusted_for(31s);
    CHECK(is_gone());
    for (int i = 0; i < 20; ++i) {
        trust_others();
        world.run_trusted_for(50s);
        CHECK_FALSE(is_foreign(world.cluster.stored("ca.crt")));
    }
    world.run_trusted_for(100s);
    CHECK(is_gone());
}

TEST_CASE("a broken client CA file does not delay the use of a renewed certificate", "[rotator]") {
    const std::pair<const char*, void (*)(const std::string&)> cases[] = {
        {"missing", [](const std::string& file) { std::filesystem::remove(file); }},
        {"empty", [](const std::string& file) { std::ofstream(file) << ""; }},
        {"broken", [](const std::string& file) { std::ofstream(file) << "hello"; }}};
    for (const auto& [name, harm] : cases) {
        DYNAMIC_SECTION(name) {
            char directory[] = "/tmp/signalbox-ca-XXXXXX";
            const std::string file = std::string(::mkdtemp(directory)) + "/ca.crt";
            const std::string good =
                net::make_self_signed({.not_after = api::Time(1h), .dns_names = {"x"}}).ca_pem;
            std::ofstream(file) << good;
            World world;
            auto& replica = world.start("one", {.client_ca_file = file});
            world.clock.run_for(1min);
            const auto old_end = replica.tls->not_after();
            harm(file);
            world.cluster.objects.erase(secret);
            world.clock.run_for(1min);
            CHECK(replica.tls->not_after() > old_end);
            const std::string complaint = "the client CA file is not usable";
            CHECK(holds(replica.lines, complaint));
            CHECK(holds(replica.lines, file));
            CHECK(replica.lines.find(complaint) == replica.lines.rfind(complaint));
            std::ofstream(file) << good;
            world.clock.run_for(1min);
            CHECK(holds(replica.lines, "the client CA file is usable again"));
            std::filesystem::remove_all(directory);
        }
    }
}

TEST_CASE("the time for API servers to read a new CA starts again when another writer removes it",
          "[rotator]") {
    World world;
    auto& replica = world.start();
    world.clock.run_for(1min);
    const auto old_end = replica.tls->not_after();
    const std::string old_ca = world.cluster.stored("ca.crt");
    world.cluster.objects.erase(secret);
    while (world.cluster.bundle(mutating) == old_ca) world.clock.run_for(100ms);
    world.clock.run_for(5s);
    Json other = world.cluster.objects[mutating];
    other["webhooks"].items()[0]["clientConfig"]["caBundle"] = api::to_base64(old_ca);
    world.cluster.put(mutating, other);
    while (world.cluster.bundle(mutating) == old_ca) world.clock.run_for(100ms);
    world.clock.run_for(9s);
    CHECK(replica.tls->not_after() == old_end);
    world.clock.run_for(2s);
    CHECK(replica.tls->not_after() > old_end);
}

TEST_CASE("writes against another writer of the CA bundle become slower, and are logged once", "[rotator]") {
    World world;
    auto& replica = world.start("one", {.lifetime = 90 * 24h});
    world.clock.run_for(1min);
    world.cluster.writes.clear();
    bool fights = true;
    world.cluster.meanwhile = [&](const kube::Request& request) {
        if (!fights || request.method != "GET" || request.target.find("mutating") == std::string::npos)
            return;
        Json other = world.cluster.objects[mutating];
        other["webhooks"].items()[0]["clientConfig"]["caBundle"] = "";
        world.cluster.put(mutating, other);
    };
    world.clock.run_for(10min);
    CHECK(std::ranges::count(world.cluster.writes, "PUT defaulter.trainer.kubeflow.org") > 10);
    CHECK(std::ranges::count(world.cluster.writes, "PUT defaulter.trainer.kubeflow.org") < 40);
    const std::string complaint = "another writer keeps changing the CA bundle";
    CHECK(holds(replica.lines, complaint));
    CHECK(replica.lines.find(complaint) == replica.lines.rfind(complaint));
    CHECK(std::ranges::count(replica.lines, '\n') < 12);
    fights = false;
    world.clock.run_for(2min);
    CHECK(world.cluster.bundle(mutating) == world.cluster.stored("ca.crt"));
    // A single change by another writer causes no long delay.
    fights = true;
    world.clock.run_for(31s);
    fights = false;
    world.clock.run_for(2s);
    CHECK(world.cluster.bundle(mutating) == world.cluster.stored("ca.crt"));
}

TEST_CASE("clocks may differ by hours", "[rotator]") {
    World world;
    world.start("ahead", {.lifetime = 90 * 24h, .skew = 2h});
    auto& right = world.start("right", {.lifetime = 90 * 24h});
    world.run_trusted_for(2min);
    REQUIRE(right.signer.in_use());
    CHECK(net::certificate_fields(world.cluster.stored("tls.crt"))->not_before <= world.now());
    CHECK(right.tls->not_after() == world.now() - 2min + 2h + 90 * 24h);
}

TEST_CASE("a certificate that is not valid yet replaces none that is valid", "[rotator]") {
    World world;
    auto& right = world.start("right", {.lifetime = 90 * 24h});
    world.run_trusted_for(2min);
    const auto end = right.tls->not_after();
    const auto connected = right.server.answer;
    right.server.answer = [](const kube::Request&) { return refusal(503, api::Errc::unavailable); };
    world.cluster.objects.erase(secret);
    world.start("ahead", {.lifetime = 90 * 24h, .skew = 24h + 10min});
    world.run_trusted_for(1min);
    right.server.answer = connected;
    world.run_trusted_for(7min);
    CHECK(right.tls->not_after() == end);
    CHECK(holds(right.lines, "not valid yet"));
    world.run_trusted_for(3min);
    CHECK(right.tls->not_after() > end);
}

TEST_CASE("an error is logged once, and when it has ended", "[rotator]") {
    World world;
    world.cluster.objects.erase(mutating);
    auto& replica = world.start();
    world.clock.run_for(5min);
    CHECK(replica.lines.find("cannot read mutatingwebhookconfigurations") != std::string::npos);
    CHECK(std::ranges::count(replica.lines, '\n') <= 1);
    world.cluster.objects[mutating] = configuration(mutating, 0);
    world.clock.run_for(5min);
    CHECK(replica.lines.find("check --service") != std::string::npos);
    world.cluster.objects[mutating] = configuration(mutating, 1);
    // Calls may fail until then.
    world.clock.run_for(3s);
    CHECK(world.cluster.writes.size() == 3);
    world.clock.run_for(1min);
    CHECK(replica.signer.in_use());
    CHECK(replica.lines.find("PRIVATE") == std::string::npos);
}
