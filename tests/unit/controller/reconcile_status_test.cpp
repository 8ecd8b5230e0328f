// Feature gate TrainJobStatus: the CA of the status server reaches every job, and follows its rotation.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "api/base64.hpp"
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::secrets;

const std::string ca_path = "/api/v1/namespaces/ops/secrets/ca";
const std::string map_path = config_maps_path + "/job-tls-config";

std::string pem(const std::string& name) {
    return "-----BEGIN CERTIFICATE-----\n" + name + "\n-----END CERTIFICATE-----\n";
}

struct Reporting : Life {
    Reporting()
        : Life(runtime::make_pipeline(
              {.status_server = runtime::StatusServer{"https://s:1", {"ops", "ca"}}})) {
        server.refuse_read = [this](const kube::Request& request) -> std::optional<api::Error> {
            ca_reads += request.target == ca_path;
            return std::nullopt;
        };
    }
    void set_ca(const std::string& name) {
        Json secret =
            api::parse_json(
                R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "ops", "name": "ca"}})")
                .value();
        secret["data"]["ca.crt"] = api::to_base64(pem(name));
        secret["data"]["tls.key"] = "c2VjcmV0";
        server.put(secrets, std::move(secret));
    }
    std::string ca_of_job() {
        const Json* map = server.find(config_maps, {"ns", "job-tls-config"});
        return map ? std::string((*map)["data"]["ca.crt"].as_string()) : "";
    }
    int ca_reads = 0;
};

}  // namespace

TEST_CASE("the CA is there before the Pods, and settled jobs write nothing", "[status]") {
    Reporting life;
    life.set_ca("one");
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "POST " + config_maps_path,
                                              "PATCH " + job_set_path, "PATCH " + status_path});
    CHECK(life.ca_of_job() == pem("one"));
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("a CA under our name that has another owner stops the job before the first write", "[status]") {
    Reporting life;
    life.set_ca("one");
    life.server.put(config_maps, api::parse_json(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata":
        {"name": "job-tls-config", "namespace": "ns"}, "data": {"ca.crt": "foreign"}})")
                                     .value());
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.ca_of_job() == "foreign");
}

TEST_CASE("a running job follows a CA that is rotated, which is read every ten minutes at most", "[status]") {
    Reporting life;
    life.set_ca("one");
    life.reconcile();
    life.set_ca("two");
    life.time.run_for(9min);
    life.reconcile();
    CHECK(life.ca_reads == 1);
    CHECK(life.ca_of_job() == pem("one"));
    CHECK(life.changes == 0);

    life.time.run_for(1min);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.ca_reads == 2);
    CHECK(life.changes == 1);
    CHECK(life.ca_of_job() == pem("two"));
    CHECK(life.server.take_writes() == Writes{"PUT " + map_path});
}

TEST_CASE("the CA is read again without any reconcile, and all jobs are enqueued when it differs",
          "[status]") {
    Reporting life;
    life.set_ca("one");
    life.reconcile();
    boost::asio::cancellation_signal stop;
    boost::asio::co_spawn(life.context, life.shared.keep_fresh(life.server),
                          boost::asio::bind_cancellation_slot(stop.slot(), boost::asio::detached));
    life.time.run_for(25min);
    CHECK(life.ca_reads == 3);
    CHECK(life.changes == 0);
    life.set_ca("two");
    life.time.run_for(11min);
    CHECK(life.ca_reads == 4);
    CHECK(life.changes == 1);
    stop.emit(boost::asio::cancellation_type::terminal);
    life.time.run();
}

TEST_CASE("every reconcile looks for a missing CA again, and the job says what is missing", "[status]") {
    Reporting life;
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
    CHECK_THAT(life.message("Created"), Catch::Contains("Secret ops/ca") && Catch::Contains("ca.crt"));
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    life.set_ca("one");
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("many reconciles at the same time read the CA once, also if the first of them is cut", "[status]") {
    Reporting life;
    life.set_ca("one");
    const runtime::Need need = {.resource = api::resources::secrets,
                                .key = {"ops", "ca"},
                                .shared_read = runtime::Shared{.max_age = 10min, .data_key = "ca.crt"}};
    // Answers take a while.
    class Slow final : public kube::ApiServer {
    public:
        Slow(kube::ApiServer& server, kube::Clock& clock) : server_(server), clock_(clock) {}
        kube::Async<kube::Response> send(kube::Request request) override {
            co_await clock_.sleep_until(clock_.now() + 5s);
            co_return co_await server_.send(std::move(request));
        }
        kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
            return server_.watch(std::move(request));
        }

    private:
        kube::ApiServer& server_;
        kube::Clock& clock_;
    } slow(life.server, life.time);

    int read = 0;
    const auto reader = [&]() -> kube::Task<> {
        const auto object = co_await life.shared.read(slow, need);
        if (object && *object) ++read;
        // Of the Secret no more is kept than is asked for.
        if (object && *object) CHECK((**object)["data"]["tls.key"].is_null());
    };
    boost::asio::cancellation_signal cut;
    boost::asio::co_spawn(life.context, reader(),
                          boost::asio::bind_cancellation_slot(cut.slot(), boost::asio::detached));
    for (int i = 0; i < 3; ++i) boost::asio::co_spawn(life.context, reader(), boost::asio::detached);
    life.time.run_for(1s);
    cut.emit(boost::asio::cancellation_type::terminal);
    life.time.run_for(20s);
    CHECK(read == 3);
    CHECK(life.ca_reads == 1);
}

}  // namespace controller
