// Damaged reviews: none is allowed by mistake.
#include <catch2/catch.hpp>
#include <random>

#include "reviews.hpp"
#include "runtime/validation.hpp"
#include "support/printers.hpp"

using api::Json;
using test::Fixture;
using test::review;

namespace {

// Reviews that are denied, each for another reason.
Json two_replicas() {
    Json runtime = test::cluster_runtime();
    runtime["spec"]["template"]["spec"]["replicatedJobs"].items()[0]["replicas"] = 2;
    return review("CREATE", runtime);
}
Json new_deadline() {
    Json job = test::train_job();
    job["spec"]["activeDeadlineSeconds"] = 60;
    return review("UPDATE", job, test::train_job());
}

std::string damaged(std::string text, std::mt19937& random) {
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    static constexpr std::string_view pieces[] = {"\"", "{",  "}",    "[",           "]",    ",",
                                                  ":",  "\\", "null", "0",           "\xFF", "\\u0000",
                                                  "x",  " ",  "{}",   "\"object\":", "true"};
    for (std::size_t n = 1 + below(3); n > 0; --n) {
        const std::size_t at = below(text.size());
        switch (below(4)) {
            case 0: text.replace(at, 1, pieces[below(std::size(pieces))]); break;
            case 1: text.insert(at, pieces[below(std::size(pieces))]); break;
            case 2: text.erase(at, 1 + below(8)); break;
            default: text.insert(at, text, below(text.size()), below(40)); break;
        }
    }
    return text;
}

// Returns whether a review with these bytes, decoded separately, has no errors.
bool may_be_allowed(const std::string& body) {
    const auto read = api::parse_json(body);
    if (!read) return false;
    const Json& request = std::as_const(*read)["request"];
    const std::string_view operation = request["operation"].as_string();
    if (operation == "DELETE" || operation == "CONNECT" || !request["subResource"].as_string().empty())
        return true;
    const Json old = operation == "UPDATE" ? request["oldObject"] : Json();
    if (request["object"]["kind"].as_string() == "TrainJob") {
        const Json runtime = test::cluster_runtime();
        return runtime::validate_train_job(
                   {.object = request["object"], .old_object = old, .runtime = &runtime})
            .errors.empty();
    }
    return runtime::validate_runtime(request["object"], old).errors.empty();
}

}  // namespace

TEST_CASE("a damaged review is allowed only if its remaining content is valid", "[review]") {
    struct Case {
        const char* name;
        const std::string& path;
        Json review;
    };
    const Case cases[] = {
        {"a runtime that breaks a rule", test::cluster_runtime_path, two_replicas()},
        {"a deadline that is added", test::train_job_path, new_deadline()},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            const net::HttpRequest whole = test::post(c.path, c.review);
            REQUIRE_FALSE(fixture.ask(whole).allowed());
            std::mt19937 random(25);
            std::size_t verdicts = 0;
            for (int i = 0; i < 3000; ++i) {
                net::HttpRequest request = whole;
                request.body = damaged(whole.body, random);
                const test::Reply reply = fixture.ask(request);
                if (reply.http.status == 200) ++verdicts;
                INFO(request.body);
                if (reply.allowed()) REQUIRE(may_be_allowed(request.body));
                REQUIRE((reply.http.status == 200 || reply.http.status == 400));
            }
            CHECK(verdicts > 100);  // otherwise none of them could be read
        }
    }
}

TEST_CASE("a review with a missing part is never allowed", "[review]") {
    Fixture fixture;
    const net::HttpRequest whole = test::post(test::cluster_runtime_path, two_replicas());
    for (std::size_t size = 0; size < whole.body.size(); ++size) {
        net::HttpRequest request = whole;
        request.body.resize(size);
        CHECK(fixture.ask(request).http.status == 400);
    }
}

TEST_CASE("an object of any other type is never allowed", "[review]") {
    for (const char* member : {"object", "oldObject"})
        for (const Json& value :
             {Json(), Json(true), Json(1), Json(1.5), Json("x"), Json::array({1}), Json::object()}) {
            Fixture fixture;
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            Json changed = review("UPDATE", test::train_job(), test::train_job());
            changed["request"][member] = value;
            INFO(member << " " << value);
            for (const std::string& path : {test::train_job_path, test::mutate_path}) {
                const test::Reply reply = fixture.ask(test::post(path, changed));
                CHECK_FALSE(reply.allowed());
                CHECK(reply.denial_code() == 400);
            }
        }
}
