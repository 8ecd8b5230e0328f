// Whole reconciles write what the want.json of each case of tests/data/build says.
#include <map>

#include "build_case.hpp"
#include "life.hpp"
#include "runtime/active_plugins.hpp"
#include "support/golden.hpp"

namespace controller {
namespace {

const kube::Resource& resource_of(const Json& object) {
    const std::string_view kind = object["kind"].as_string();
    static const auto owned = runtime::owned_kinds();
    const kube::Resource* known = api::find_resource(object["apiVersion"].as_string(), kind, owned);
    if (!known) FAIL("no resource for " << object);
    return *known;
}

void reconcile(Life& life, const api::ObjectKey& of) {
    life.server.show(life.cache);
    const auto run = [&]() -> kube::Task<> { co_await life.reconciler.reconcile(of, {}); };
    boost::asio::co_spawn(life.context, run(), boost::asio::detached);
    life.context.restart();
    life.context.run();
}

// What the reconciles sent, but for the TrainJob's status.
struct Sent {
    std::map<std::string, Json> objects = {};  // created or applied, by key_of(); the last of each
    Json patched = Json::array();
    Json deleted = Json::array();
};

// "Kind/name" of an object of the case; the path of others.
Json name_of(const BuildCase& c, std::string_view path) {
    for (const Json& object : c.existing)
        if (kube::path(resource_of(object), api::parse_meta(object).key()) == path) return key_of(object);
    return path;
}

void note(const BuildCase& c, const kube::Request& request, ModelServer& server, Sent& sent) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path.ends_with("/status")) return;
    if (request.method == "DELETE") return sent.deleted.push_back(name_of(c, path));
    Json body = api::parse_json(request.body).value();
    if (std::as_const(body)["kind"].is_null())
        sent.patched.push_back(
            Json::object({{"object", name_of(c, path)}, {"spec", std::as_const(body)["spec"]}}));
    else if (request.method != "POST" || !server.find(resource_of(body), api::parse_meta(body).key()))
        sent.objects[key_of(body)] = std::move(body);
}

// As want.json has it.
Json status_of(const Json& job) {
    Json status = job["status"];
    if (Json* conditions = status.find("conditions"))
        for (Json& condition : conditions->items()) condition.erase("lastTransitionTime");
    for (const char* reported_elsewhere : {"runPolicy", "runtimeDigest", "startTime"})
        status.erase(reported_elsewhere);
    return status;
}

std::optional<std::string> error_in(const Json& status) {
    for (const Json& condition : status["conditions"].items())
        if (condition["type"].as_string() == api::condition::created &&
            condition["status"].as_string() == "False")
            return condition["message"].string();
    return std::nullopt;
}

// Reconciles a case until nothing is left to do, and returns all that was done.
Json outcome_of(const BuildCase& c) {
    Life life(runtime::make_pipeline(c.features));
    life.server.restore(train_jobs, c.train_job);
    if (c.runtime) life.server.restore(resource_of(*c.runtime), *c.runtime);
    for (const Json& object : c.existing) life.server.restore(resource_of(object), object);

    Sent sent;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        note(c, request, life.server, sent);
        return std::nullopt;
    };
    constexpr int enough = 4;
    for (int i = 0; i < enough; ++i) {
        reconcile(life, c.job.meta.key());
        life.server.collect_garbage();
    }

    std::vector<Json> objects;
    for (auto& [key, object] : sent.objects) objects.push_back(std::move(object));
    const Json status = status_of(*life.server.find(train_jobs, c.job.meta.key()));
    Json outcome = Json::object();
    if (!status.empty()) outcome["status"] = status;
    if (const auto error = error_in(status)) outcome["error"] = *error;
    if (!outcome.contains("error") || !objects.empty())
        outcome["objects"] = golden_objects(std::move(objects));
    if (!sent.deleted.empty()) outcome["deleted"] = sent.deleted;
    if (!sent.patched.empty()) outcome["patched"] = sent.patched;
    return outcome;
}

}  // namespace

TEST_CASE("reconciles do what want.json says: objects or an error, status, patches, deletions", "[golden]") {
    for (const BuildCase& c : all_build_cases()) DYNAMIC_SECTION(c.name) {
            golden::check(c.folder / "want.json", outcome_of(c));
        }
}

}  // namespace controller
