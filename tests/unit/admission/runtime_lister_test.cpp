#include "admission/runtime_lister.hpp"

#include <catch2/catch.hpp>
#include <iterator>

#include "reviews.hpp"
#include "support/printers.hpp"

using admission::RuntimeLister;
using api::Json;

namespace {

admission::RuntimeTextPtr runtime_of(std::size_t values) {
    Json runtime = test::cluster_runtime();
    runtime["spec"]["x"] = Json(Json::Array(values, Json("")));
    return admission::make_runtime_text(std::move(runtime));
}

}  // namespace

TEST_CASE("a lister finds stored runtimes, and many reviews share one tree", "[lister]") {
    RuntimeLister view;
    CHECK(view.find_tree({"", "plain"}).value() == nullptr);
    view.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    const auto tree = view.find_tree({"", "plain"}).value();
    CHECK(*tree == test::cluster_runtime());
    CHECK(view.find_tree({"", "plain"}).value() == tree);
    CHECK(view.find_tree({"ns", "plain"}).value() == nullptr);

    view.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime("other")));
    CHECK((*view.find_tree({"", "plain"}).value())["metadata"]["name"] == "other");
    view.set({"", "plain"}, nullptr);
    CHECK(view.find_tree({"", "plain"}).value() == nullptr);
    view.set({"", "plain"}, nullptr);
}

TEST_CASE("trees of the most recently used runtimes are kept, up to a bound", "[lister]") {
    RuntimeLister view;
    constexpr std::size_t fourth = RuntimeLister::most_kept_values / 4;
    std::vector<std::weak_ptr<const Json>> trees;
    for (int i = 0; i < 6; ++i) {
        const api::ObjectKey key = {"", std::to_string(i)};
        view.set(key, runtime_of(fourth));
        trees.push_back(view.find_tree(key).value());
        // The first runtime is in use all the time.
        CHECK(view.find_tree({"", "0"}).value() == trees[0].lock());
    }
    std::vector<bool> kept;
    for (const auto& tree : trees) kept.push_back(!tree.expired());
    CHECK(kept == std::vector<bool>{true, false, false, false, true, true});
    CHECK(view.find_tree({"", "1"}).value() != nullptr);
    for (int i = 0; i < 6; ++i) view.set({"", std::to_string(i)}, nullptr);
    for (const auto& tree : trees) CHECK(tree.expired());
}

TEST_CASE("the tree of the largest valid runtime is kept", "[lister]") {
    RuntimeLister view;
    std::size_t around = 0;
    for (std::size_t values = admission::max_runtime_values; around == 0; values -= 100)
        if (const auto text = runtime_of(values); !text->is_too_large()) {
            around = text->values;
            view.set({"", "large"}, text);
        }
    CHECK(around > admission::max_runtime_values - 200);
    CHECK(view.values_of({"", "large"}) == around);
    CHECK(view.values_of({"", "other"}) == 0);
    std::weak_ptr<const Json> tree = view.find_tree({"", "large"}).value();
    CHECK_FALSE(tree.expired());
}

TEST_CASE("a runtime that is too large is refused with its size", "[lister]") {
    RuntimeLister view;
    view.set({"", "huge"}, runtime_of(admission::max_runtime_values));
    const auto found = view.find_tree({"", "huge"});
    REQUIRE_FALSE(found);
    CHECK(found.error().field == "spec.runtimeRef");
    CHECK_THAT(found.error().message, Catch::Contains("a runtime may hold 50000"));
}

TEST_CASE("the suggested name is one of the same namespace", "[lister]") {
    RuntimeLister view;
    for (const char* name : {"torch-distributed", "mpi-distributed", "jax"})
        view.set({"", name}, admission::make_runtime_text(test::cluster_runtime(name)));
    view.set({"team-a", "torch-secret"},
             admission::make_runtime_text(test::namespaced_runtime("torch-secret")));
    CHECK(view.nearest({"", "torch-distribted"}) == "torch-distributed");
    CHECK(view.nearest({"", "torch-secret"}).empty());
    CHECK(view.nearest({"team-a", "torch-secrt"}) == "torch-secret");
    CHECK(view.nearest({"team-b", "torch-secrt"}).empty());
    CHECK(view.nearest({"", "xgboost"}).empty());
    CHECK(RuntimeLister().nearest({"", "jax"}).empty());
}

TEST_CASE("of very many names, those next to the misspelt one are compared", "[lister]") {
    RuntimeLister view;
    const auto text = admission::make_runtime_text(test::cluster_runtime());
    for (int i = 1000; i < 2000; ++i) view.set({"", "runtime-" + std::to_string(i)}, text);
    view.set({"", "a-runtime"}, text);
    CHECK(view.nearest({"", "runtime-1500x"}) == "runtime-1500");
    CHECK(view.nearest({"", "z-runtime"}).empty());
    CHECK(view.nearest({"", "b-runtime"}) == "a-runtime");
}

TEST_CASE("a runtime is examined once, with the pipeline of the reviews", "[lister]") {
    const runtime::Pipeline pipeline = runtime::make_pipeline({.status_server = runtime::StatusServer()});
    RuntimeLister view(pipeline), usual;
    const auto plugins_of = [](RuntimeLister& lister) {
        const auto& plugins = lister.find({"", "plain"}).value()->plugins();
        return std::distance(plugins.begin(), plugins.end());
    };
    for (RuntimeLister* lister : {&view, &usual})
        lister->set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    CHECK(plugins_of(view) == plugins_of(usual) + 1);
    const auto found = view.find({"", "plain"}).value();
    CHECK(found->shape());
    CHECK(found->review_needs().empty());
    CHECK(view.find({"", "plain"}).value() == found);

    Json volcano = test::cluster_runtime();
    volcano["spec"]["podGroupPolicy"]["volcano"] = Json::object();
    volcano["spec"]["template"]["spec"]["replicatedJobs"]
        .items()[0]["template"]["spec"]["template"]["spec"]["priorityClassName"] = "high";
    view.set({"", "plain"}, admission::make_runtime_text(volcano));
    CHECK(view.find({"", "plain"}).value()->review_needs() == runtime::review_needs(volcano, pipeline));
    CHECK_FALSE(view.find({"", "plain"}).value()->review_needs().empty());

    volcano["spec"]["template"]["spec"]["replicatedJobs"] = "no list";
    view.set({"", "plain"}, admission::make_runtime_text(volcano));
    CHECK_FALSE(view.find({"", "plain"}).value()->shape());
}
