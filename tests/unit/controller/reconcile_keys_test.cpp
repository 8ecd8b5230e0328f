// Runtimes whose Pods need keys.
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::secrets;

const std::string secrets_path = "/api/v1/namespaces/ns/secrets";

struct Framework {
    const char* name;
    const char* secret;
    const char* data_key;
    const char* config_map;
};

const Framework frameworks[] = {{"mpi", "job-mpi-ssh-auth", "ssh-privatekey", "job-mpi-hostfile"},
                                {"flux", "job-flux-curve", "curve.cert", "job-flux-entrypoint"}};

void use(Life& life, const Framework& framework) {
    life.set_in_runtime("mlPolicy", Json::object({{framework.name, Json::object()}}));
}

Json secret_on(Life& life, const Framework& framework) {
    const Json* found = life.server.find(secrets, {"ns", framework.secret});
    return found ? *found : Json();
}

}  // namespace

TEST_CASE("keys are made before the Pods that mount them, once, and settled jobs write nothing", "[keys]") {
    for (const Framework& framework : frameworks) {
        DYNAMIC_SECTION(framework.name) {
            Life life;
            use(life, framework);
            life.reconcile();
            const Writes writes = life.server.take_writes();
            const auto place = [&](const std::string& write) {
                return std::find(writes.begin(), writes.end(), write) - writes.begin();
            };
            CHECK(place("POST " + secrets_path) < place("PATCH " + job_set_path));
            CHECK(place("PATCH " + job_set_path) < static_cast<std::ptrdiff_t>(writes.size()));
            // The snapshot, and that of the framework.
            CHECK(std::count(writes.begin(), writes.end(), "POST " + config_maps_path) == 2);
            CHECK(life.server.find(config_maps, {"ns", framework.config_map}));
            const Json secret = secret_on(life, framework);
            CHECK_FALSE(secret["data"][framework.data_key].as_string().empty());
            CHECK(secret["metadata"]["annotations"].members().size() == 1);  // the note of its data

            life.reconcile();
            CHECK(life.server.take_writes() == Writes{});
            life.set_suspend(true);
            life.reconcile();
            life.set_suspend(false);
            life.reconcile();
            CHECK(secret_on(life, framework) == secret);
        }
    }
}

TEST_CASE("two jobs have different keys, and nothing of them is logged", "[keys]") {
    for (const Framework& framework : frameworks) {
        DYNAMIC_SECTION(framework.name) {
            std::string texts[2];
            for (std::string& text : texts) {
                Life life;
                use(life, framework);
                life.reconcile();
                text = secret_on(life, framework)["data"][framework.data_key].as_string();
                for (const std::string& line : life.log_lines) CHECK(line.find(text) == line.npos);
            }
            CHECK(texts[0] != texts[1]);
        }
    }
}

TEST_CASE("a Secret or ConfigMap of another owner stops everything before the first write", "[keys]") {
    for (const Framework& framework : frameworks)
        for (const bool is_secret : {true, false}) {
            DYNAMIC_SECTION(framework.name << (is_secret ? " Secret" : " ConfigMap")) {
                Life life;
                use(life, framework);
                const char* const name = is_secret ? framework.secret : framework.config_map;
                const Json foreign =
                    Json::object({{"apiVersion", "v1"},
                                  {"kind", is_secret ? "Secret" : "ConfigMap"},
                                  {"metadata", Json::object({{"name", name}, {"namespace", "ns"}})}});
                life.server.put(is_secret ? secrets : config_maps, foreign);
                life.server.take_writes();
                life.reconcile();
                CHECK(life.condition("Created") == "False/JobsCreationFailed");
                CHECK(life.message("Created").find(name) != std::string::npos);
                CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
            }
        }
}

TEST_CASE("keys that are deleted while the Pods run are made anew with the next resume, not beside them",
          "[keys]") {
    for (const Framework& framework : frameworks) {
        DYNAMIC_SECTION(framework.name) {
            Life life;
            use(life, framework);
            life.reconcile();
            life.server.erase(secrets, {"ns", framework.secret});
            life.server.take_writes();
            life.reconcile();
            CHECK(secret_on(life, framework).is_null());
            CHECK(life.server.take_writes() == Writes{});
            CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
            life.set_suspend(true);
            life.reconcile();
            life.set_suspend(false);
            life.reconcile();
            CHECK_FALSE(secret_on(life, framework).is_null());
        }
    }
}

}  // namespace controller
