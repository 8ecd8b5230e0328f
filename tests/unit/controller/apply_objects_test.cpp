// The objects besides the JobSet and the snapshot.
#include "reconcile/apply_objects.hpp"
#include "life.hpp"
#include "support/pod_groups.hpp"

namespace controller {
namespace {

using runtime::ApplyPolicy;

const std::string map_path = config_maps_path + "/job-map";
const api::ObjectKey map_key = {"ns", "job-map"};

Json config_map(const char* text) {
    return Json::object({{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", Json::object({{"name", "job-map"}, {"namespace", "ns"}})},
                         {"data", Json::object({{"key", text}})}});
}

// What a plugin that builds these objects asks for; none of them has been seen.
NeededObjects nothing_there(const runtime::Built& built) {
    NeededObjects found;
    for (const runtime::BuiltObject& each : built.objects)
        for (const api::Resource& kind : {config_maps, test::pod_groups})
            if (is_of(kind, each.object))
                found.needs.objects.push_back(
                    {.resource = kind, .key = api::parse_meta(each.object).key(), .apply = each.when});
    return found;
}

// A server with at most one such ConfigMap on it, and what applying one comes to.
struct OneMap {
    ModelServer server = {};
    boost::asio::io_context context = {};
    View view = {};
    StepFailure result = {};

    Writes apply(const char* text, ApplyPolicy when, Beside beside, Template pods = Template::own) {
        runtime::Built built;
        built.objects.push_back({config_map(text), when});
        built.objects.push_back({Json::object({{"kind", "JobSet"}}), ApplyPolicy::with_job_set});
        NeededObjects found = nothing_there(built);
        if (const Json* live = server.find(config_maps, map_key)) found.observed.push_back(*live);
        return apply(built, found, beside, pods);
    }

    Writes apply(const runtime::Built& built, const NeededObjects& found, Beside beside,
                 Template pods = Template::own) {
        server.take_writes();
        const auto run = [&]() -> kube::Task<> {
            result = co_await apply_objects(server, view, built, found, beside, pods);
        };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        return server.take_writes();
    }

    std::string text() {
        const Json* live = server.find(config_maps, map_key);
        return live ? std::string((*live)["data"]["key"].as_string()) : "none";
    }
};

TEST_CASE("each object is applied when its time is", "[object-writer]") {
    struct Case {
        const char* name;
        const char* before;  // nullptr: there is none
        const char* wanted;
        ApplyPolicy when;
        Beside beside;
        const char* after;
        std::size_t writes;
    };
    const Case cases[] = {
        {"once: created while absent", nullptr, "a", ApplyPolicy::once, Beside::new_job_set, "a", 1},
        {"once: not created beside a running JobSet", nullptr, "a", ApplyPolicy::once, Beside::own_job_set,
         "none", 0},
        {"once: created beside a JobSet of an older controller", nullptr, "a", ApplyPolicy::once,
         Beside::other_job_set, "a", 1},
        {"once: left alone", "a", "b", ApplyPolicy::once, Beside::new_job_set, "a", 0},
        {"always: created while absent", nullptr, "a", ApplyPolicy::always, Beside::own_job_set, "a", 1},
        {"always: changed beside a running JobSet", "a", "b", ApplyPolicy::always, Beside::own_job_set, "b",
         1},
        {"always: what is as it should be is not written", "a", "a", ApplyPolicy::always, Beside::new_job_set,
         "a", 0},
        {"with the JobSet: not while that is left alone", nullptr, "a", ApplyPolicy::with_job_set,
         Beside::own_job_set, "none", 0},
        {"with the JobSet: not changed while that is left alone", "a", "b", ApplyPolicy::with_job_set,
         Beside::own_job_set, "a", 0},
        {"with the JobSet: created", nullptr, "a", ApplyPolicy::with_job_set, Beside::new_job_set, "a", 1},
        {"with the JobSet: changed", "a", "b", ApplyPolicy::with_job_set, Beside::new_job_set, "b", 1},
        {"with the JobSet: what is as it should be is not written", "a", "a", ApplyPolicy::with_job_set,
         Beside::new_job_set, "a", 0},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            OneMap one;
            if (c.before) one.apply(c.before, ApplyPolicy::with_job_set, Beside::new_job_set);
            const Writes writes = one.apply(c.wanted, c.when, c.beside);
            CHECK(one.text() == c.after);
            CHECK(writes == Writes(c.writes, c.before ? "PUT " + map_path : "POST " + config_maps_path));
            CHECK(std::holds_alternative<lifecycle::Done>(one.result));
        }
    }
}

TEST_CASE("what the Pods of another controller have mounted stays, and is made where it is missing",
          "[object-writer]") {
    for (const Beside beside : {Beside::new_job_set, Beside::own_job_set, Beside::other_job_set}) {
        OneMap one;
        one.apply("foreign", ApplyPolicy::with_job_set, Beside::new_job_set);
        CHECK(one.apply("ours", ApplyPolicy::always, beside, Template::of_others) == Writes{});
        CHECK(one.text() == "foreign");
        one.server.erase(config_maps, map_key);
        CHECK(one.apply("ours", ApplyPolicy::always, beside, Template::of_others) ==
              Writes{"POST " + config_maps_path});
    }
}

TEST_CASE("what a user edited in an object of ours is put right", "[object-writer]") {
    OneMap one;
    one.apply("ours", ApplyPolicy::always, Beside::own_job_set);
    one.server.edit(config_maps, map_key, [](Json& map) { map["data"]["key"] = "foreign"; });
    CHECK(one.apply("ours", ApplyPolicy::always, Beside::own_job_set) == Writes{"PUT " + map_path});
    CHECK(one.text() == "ours");
}

TEST_CASE("an object that has appeared since it was looked for is not overwritten", "[object-writer]") {
    OneMap one;
    one.apply("foreign", ApplyPolicy::always, Beside::new_job_set);
    runtime::Built built;
    built.objects.push_back({config_map("ours"), ApplyPolicy::always});
    built.objects.push_back({});
    one.apply(built, nothing_there(built), Beside::new_job_set);
    const auto* failed = std::get_if<lifecycle::WriteFailed>(&one.result);
    REQUIRE(failed);
    CHECK(failed->object == "ConfigMap ns/job-map");
    CHECK(failed->error.code == api::Errc::conflict);
    CHECK(one.text() == "foreign");
}

TEST_CASE("what is made once touches nothing that has appeared since it was looked for", "[object-writer]") {
    OneMap one;
    one.apply("foreign", ApplyPolicy::always, Beside::new_job_set);
    runtime::Built built;
    built.objects.push_back({config_map("ours"), ApplyPolicy::once});
    built.objects.push_back({});
    one.apply(built, nothing_there(built), Beside::new_job_set);
    const auto* failed = std::get_if<lifecycle::WriteFailed>(&one.result);
    REQUIRE(failed);
    CHECK(failed->error.code == api::Errc::conflict);
    CHECK(one.text() == "foreign");
}

TEST_CASE("a change of an object carries what it was decided on", "[object-writer]") {
    OneMap one;
    one.apply("a", ApplyPolicy::always, Beside::new_job_set);
    Json body;
    one.server.refuse = [&body](const kube::Request& request) -> std::optional<api::Error> {
        body = api::parse_json(request.body).value();
        return std::nullopt;
    };
    const Json before = *one.server.find(config_maps, map_key);
    one.apply("b", ApplyPolicy::always, Beside::new_job_set);
    CHECK(body["metadata"]["uid"] == before["metadata"]["uid"]);
    CHECK(body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]);
}

TEST_CASE("what is withdrawn from an object goes, and what others put into its metadata stays",
          "[object-writer]") {
    OneMap one;
    one.apply("a", ApplyPolicy::always, Beside::new_job_set);
    one.server.edit(config_maps, map_key, [](Json& live) {
        live["data"]["withdrawn"] = "yes";
        live["metadata"]["labels"]["foreign"] = "kept";
    });
    one.apply("b", ApplyPolicy::always, Beside::new_job_set);
    const Json& after = *one.server.find(config_maps, map_key);
    CHECK(after["data"] == Json::object({{"key", "b"}}));
    CHECK(after["metadata"]["labels"]["foreign"] == Json("kept"));
    CHECK(after["metadata"]["annotations"].members().size() == 1);
    CHECK(one.apply("b", ApplyPolicy::always, Beside::new_job_set) == Writes{});
}

TEST_CASE("a custom resource is created by an apply that only creates", "[object-writer]") {
    OneMap one;
    runtime::Built built;
    Json group = Json::object({{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                               {"kind", "PodGroup"},
                               {"metadata", Json::object({{"name", "job"}, {"namespace", "ns"}})},
                               {"spec", Json::object({{"minMember", 2}})}});
    built.objects.push_back({group, ApplyPolicy::with_job_set});
    built.objects.push_back({});
    const std::string path = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/job";
    CHECK(one.apply(built, nothing_there(built), Beside::new_job_set) == Writes{"PATCH " + path});
    CHECK(std::holds_alternative<lifecycle::Done>(one.result));
    // The same again, by a reconciler that has not seen it: late, or a second one.
    built.objects.front().object["spec"]["minMember"] = 3;
    one.apply(built, nothing_there(built), Beside::new_job_set);
    REQUIRE(std::holds_alternative<lifecycle::WriteFailed>(one.result));
    CHECK(std::get<lifecycle::WriteFailed>(one.result).error.code == api::Errc::conflict);
    CHECK((*one.server.find(test::pod_groups, {"ns", "job"}))["spec"]["minMember"] == Json(2));
}

TEST_CASE("the first object that fails ends the reconcile", "[object-writer]") {
    OneMap one;
    runtime::Built built;
    built.objects.push_back({config_map("a"), ApplyPolicy::always});
    Json second = config_map("b");
    second["metadata"]["name"] = "job-other";
    built.objects.push_back({second, ApplyPolicy::always});
    built.objects.push_back({});
    one.server.refuse = [](const kube::Request&) -> std::optional<api::Error> {
        return api::Error{.code = api::Errc::forbidden, .message = "quota", .http_status = 403};
    };
    CHECK(one.apply(built, nothing_there(built), Beside::new_job_set) == Writes{"POST " + config_maps_path});
    CHECK(std::get_if<lifecycle::WriteFailed>(&one.result)->error.message == "quota");
}

// A cluster that may lack the kind, or drop fields of it.
struct OneGroup {
    ModelServer server = {};
    boost::asio::io_context context = {};
    View view = {};
    StepFailure result = {};

    OneGroup() {
        server.put(kube::resources::train_jobs, api::parse_json(job_text).value());
        look();
    }
    void look() { view.observed.job = api::parse_train_job(*server.find(kube::resources::train_jobs, key)); }

    static Json group(int members) {
        Json made = api::parse_json(R"({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
            "metadata": {"name": "job", "namespace": "ns"}})")
                        .value();
        made["spec"]["schedulingPolicy"]["gang"]["minCount"] = members;
        made["spec"]["resourceClaims"] = Json::array({Json::object({{"name", "a"}})});
        return made;
    }

    Writes apply(int members, Beside beside, bool suspended = false) {
        static constexpr runtime::Requirement requirements[] = {{{}, "a kind"}, {"resourceClaims", "a gate"}};
        runtime::Built built;
        built.objects.push_back({group(members), ApplyPolicy::for_run, requirements});
        built.objects.push_back(
            {Json::object({{"kind", "JobSet"}, {"spec", Json::object({{"suspend", suspended}})}}),
             ApplyPolicy::with_job_set});
        NeededObjects found;
        found.needs.objects.push_back(
            {.resource = test::native_pod_groups, .key = {"ns", "job"}, .apply = ApplyPolicy::for_run});
        if (const Json* live = server.find(test::native_pod_groups, {"ns", "job"}))
            found.observed.push_back(*live);
        server.take_writes();
        const auto run = [&]() -> kube::Task<> {
            result = co_await apply_objects(server, view, built, found, beside, Template::own);
        };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        return server.take_writes();
    }

    void set_status(const char* conditions) {
        server.edit(test::native_pod_groups, {"ns", "job"},
                    [&](Json& live) { live["status"]["conditions"] = api::parse_json(conditions).value(); });
    }
    bool is_there() { return server.find(test::native_pod_groups, {"ns", "job"}) != nullptr; }
    bool waits() const { return std::holds_alternative<lifecycle::WaitingForDeletion>(result); }
    bool is_done() const { return std::holds_alternative<lifecycle::Done>(result); }
};

const std::string native_path = "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/job";

TEST_CASE("what is made for a run is there before Pods, and goes with them", "[object-writer]") {
    OneGroup one;
    CHECK(one.apply(2, Beside::new_job_set) == Writes{"PATCH " + native_path});
    CHECK(one.is_done());
    // Not used yet: a resume that is tried again keeps it.
    CHECK(one.apply(2, Beside::new_job_set) == Writes{});
    SECTION("it is left alone while Pods run, whatever was changed in it") {
        one.set_status(R"([{"type": "PodGroupInitiallyScheduled", "status": "True"}])");
        CHECK(one.apply(3, Beside::own_job_set) == Writes{});
        CHECK(one.is_done());
    }
    SECTION("it is made again if it is gone") {
        one.server.erase(test::native_pod_groups, {"ns", "job"});
        CHECK(one.apply(2, Beside::own_job_set) == Writes{"PATCH " + native_path});
    }
    SECTION("a run of its own for each resume") {
        one.set_status(R"([{"type": "PodGroupInitiallyScheduled", "status": "True"}])");
        CHECK(one.apply(2, Beside::new_job_set) == Writes{"DELETE " + native_path});
        CHECK(one.waits());
        CHECK(one.apply(2, Beside::new_job_set) == Writes{"PATCH " + native_path});
        CHECK(one.is_done());
    }
    SECTION("another size needs another one") {
        CHECK(one.apply(3, Beside::new_job_set) == Writes{"DELETE " + native_path});
        CHECK(one.waits());
    }
    SECTION("it goes while the job is suspended") {
        CHECK(one.apply(2, Beside::own_job_set, true) == Writes{"DELETE " + native_path});
        CHECK(one.is_done());
        CHECK(one.apply(2, Beside::own_job_set, true) == Writes{});
    }
    SECTION("a resume waits until the Pods of before have let it go") {
        one.server.edit(test::native_pod_groups, {"ns", "job"}, [](Json& live) {
            live["metadata"]["finalizers"] = Json::array({"scheduling.k8s.io/podgroup-protection"});
        });
        CHECK(one.apply(2, Beside::own_job_set, true) == Writes{"DELETE " + native_path});
        CHECK(one.apply(2, Beside::own_job_set, true) == Writes{});
        CHECK(one.apply(2, Beside::new_job_set) == Writes{});
        CHECK(one.waits());
        CHECK(one.is_there());
        CHECK(one.apply(2, Beside::own_job_set) == Writes{});
        CHECK(one.is_done());
        // Somebody else has resumed the JobSet, and fewer Pods are left than before.
        CHECK(one.apply(1, Beside::own_job_set) == Writes{"PATCH " + native_path});
        CHECK(one.apply(1, Beside::own_job_set) == Writes{});
    }
}

TEST_CASE("a reconciler that stood still deletes nothing that a later run uses", "[object-writer]") {
    OneGroup one;
    one.apply(2, Beside::new_job_set);
    // Another one has suspended and resumed the job meanwhile.
    one.server.edit(kube::resources::train_jobs, key, [](Json& job) { job["spec"]["suspend"] = true; });
    const auto has_conflict = [&] {
        const auto* failed = std::get_if<lifecycle::WriteFailed>(&one.result);
        return failed && failed->error.code == api::Errc::conflict;
    };
    CHECK(one.apply(2, Beside::own_job_set, true) == Writes{});
    CHECK(has_conflict());
    CHECK(one.apply(3, Beside::new_job_set) == Writes{});
    CHECK(has_conflict());
    one.look();
    CHECK(one.apply(2, Beside::own_job_set, true) == Writes{"DELETE " + native_path});
}

TEST_CASE("an object that the cluster lacks, or of which it drops a part, is not there", "[object-writer]") {
    OneGroup one;
    const auto why = [&] {
        const auto* lacks = std::get_if<lifecycle::Unavailable>(&one.result);
        return lacks ? lacks->object + ": " + lacks->why : "";
    };
    SECTION("its kind") {
        one.server.refuse = [](const kube::Request&) -> std::optional<api::Error> {
            return api::Error{.code = api::Errc::not_found, .message = "no such kind", .http_status = 404};
        };
        one.apply(2, Beside::new_job_set);
        CHECK(why() == "PodGroup ns/job: needs a kind");
        // Pods that run do not need it any more.
        one.apply(2, Beside::own_job_set);
        CHECK(one.is_done());
    }
    SECTION("a field") {
        one.server.change_request = [](kube::Request& request) {
            if (request.body.empty()) return;
            Json sent = api::parse_json(request.body).value();
            sent["spec"].erase("resourceClaims");
            request.body = to_json(sent);
        };
        one.apply(2, Beside::new_job_set);
        CHECK(why() == "PodGroup ns/job: the cluster drops spec.resourceClaims, which needs a gate");
        CHECK_FALSE(one.is_there());
    }
}

}  // namespace
}  // namespace controller
