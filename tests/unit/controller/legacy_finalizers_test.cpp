#include "controller/reconcile/legacy_finalizers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include "life.hpp"

namespace controller {
namespace {

using kube::resources::training_runtimes;

// A runtime with these finalizers.
void hold(Life& life, const kube::Resource& resource, const api::ObjectKey& name,
          std::initializer_list<const char*> finalizers) {
    Json runtime = api::parse_json(runtime_text).value();
    runtime["metadata"]["name"] = name.name;
    if (!name.ns.empty()) runtime["metadata"]["namespace"] = name.ns;
    Json list = Json::array();
    for (const char* finalizer : finalizers) list.push_back(finalizer);
    runtime["metadata"]["finalizers"] = std::move(list);
    life.server.put(resource, std::move(runtime));
}

Json finalizers_of(Life& life, const kube::Resource& resource, const api::ObjectKey& name) {
    const Json* runtime = life.server.find(resource, name);
    REQUIRE(runtime);
    return (*runtime)["metadata"]["finalizers"];
}

constexpr const char* legacy = "trainer.kubeflow.org/resource-in-use";
constexpr const char* foreign = "example.com/foreign";

// The loop, while this lives.
struct Loop {
    explicit Loop(Life& owner) : life(owner) {
        auto loop =
            release_runtimes(life.server, life.cache, life.time, life.log, [this] { return leading; });
        boost::asio::co_spawn(life.context, std::move(loop),
                              boost::asio::bind_cancellation_slot(stop.slot(), boost::asio::detached));
    }
    ~Loop() {
        stop.emit(boost::asio::cancellation_type::terminal);
        life.time.run();
    }
    void look() {
        life.server.show(life.cache);
        life.time.run_for(10s);
    }

    Life& life;
    bool leading = true;
    boost::asio::cancellation_signal stop = {};
};

TEST_CASE("the finalizer of older controllers is taken off runtimes of both kinds, and no other",
          "[finalizers]") {
    Life life;
    hold(life, cluster_training_runtimes, torch, {foreign, legacy});
    hold(life, training_runtimes, {"ns", "mine"}, {legacy});
    hold(life, training_runtimes, {"ns", "other"}, {foreign});
    life.server.take_writes();
    Loop loop(life);
    loop.look();
    loop.look();
    CHECK(finalizers_of(life, cluster_training_runtimes, torch) == Json::array({Json(foreign)}));
    CHECK(finalizers_of(life, training_runtimes, {"ns", "mine"}).empty());
    CHECK(finalizers_of(life, training_runtimes, {"ns", "other"}) == Json::array({Json(foreign)}));
    CHECK(life.server.take_writes().size() == 2);
    loop.look();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("a controller of some namespaces leaves alone what all share", "[finalizers]") {
    Life life(runtime::make_pipeline({}), kube::Namespaces({"ns"}));
    hold(life, cluster_training_runtimes, torch, {legacy});
    hold(life, training_runtimes, {"ns", "mine"}, {legacy});
    Loop loop(life);
    loop.look();
    loop.look();
    CHECK(finalizers_of(life, training_runtimes, {"ns", "mine"}).empty());
    CHECK(finalizers_of(life, cluster_training_runtimes, torch) == Json::array({Json(legacy)}));
}

TEST_CASE("only the leader takes finalizers off", "[finalizers]") {
    Life life;
    hold(life, cluster_training_runtimes, torch, {legacy});
    Loop loop(life);
    loop.leading = false;
    loop.look();
    loop.look();
    CHECK(life.server.take_writes() == Writes{});
    loop.leading = true;
    loop.look();
    CHECK(finalizers_of(life, cluster_training_runtimes, torch).empty());
}

TEST_CASE("a finalizer that may not be taken off is logged once, and tried again", "[finalizers]") {
    Life life;
    hold(life, cluster_training_runtimes, torch, {legacy});
    life.server.refuse = [](const kube::Request&) -> std::optional<api::Error> {
        return api::Error{.code = api::Errc::forbidden, .message = "may not", .http_status = 403};
    };
    Loop loop(life);
    for (int i = 0; i < 5; ++i) loop.look();
    CHECK(life.log_lines.size() == 1);
    life.server.refuse = {};
    loop.look();
    CHECK(finalizers_of(life, cluster_training_runtimes, torch).empty());
}

}  // namespace
}  // namespace controller
