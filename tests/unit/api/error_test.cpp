#include "api/error.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <vector>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("an error names its field in front", "[api]") {
    CHECK(describe(Error{.message = "must be positive", .field = "spec.trainer.numNodes"}) ==
          "spec.trainer.numNodes: must be positive");
    CHECK(describe(Error{.message = "connection refused"}) == "connection refused");
}

TEST_CASE("an error prints with its code", "[api]") {
    std::ostringstream out;
    out << Error{.code = Errc::not_found, .message = "no such TrainJob"};
    CHECK(out.str() == "not_found: no such TrainJob");
}

TEST_CASE("every error code has its own name", "[api]") {
    std::vector<std::string_view> names;
    for (const Errc code : {Errc::invalid, Errc::not_found, Errc::conflict, Errc::gone, Errc::forbidden,
                            Errc::unauthorized, Errc::unavailable, Errc::internal}) {
        CHECK(std::find(names.begin(), names.end(), to_string(code)) == names.end());
        names.push_back(to_string(code));
    }
}

TEST_CASE("value() of a failed result throws the error with its place", "[api]") {
    const Result<int> failed = invalid("spec", "wrong");
    CHECK_THROWS_AS(failed.value(), std::logic_error);
    CHECK_THROWS_WITH(failed.value(), Catch::Contains("error_test.cpp") && Catch::Contains("spec: wrong"));
}
