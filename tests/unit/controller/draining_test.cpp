// How the controller ends.
#include "shop.hpp"

TEST_CASE("draining starts nothing, and waits for as long as it is patient") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    shop.drain(20s);
    shop.submit("late");
    shop.server.show(shop.cache);
    shop.time.run_for(19'999ms);
    CHECK(!shop.cut);
    shop.time.run_for(1ms);
    CHECK(shop.cut == 1);
    CHECK(shop.lines.empty());  // to be cut is no bug of the reconcile
    shop.time.run_for(24h);
    CHECK(!shop.has_job_set("stuck"));
    CHECK(!shop.has_job_set("late"));
}

TEST_CASE("draining ends with the last reconcile") {
    Shop shop;
    SECTION("at once without any") {
        shop.drain(20s);
        CHECK(shop.cut == 0);
    }
    SECTION("or when it is through") {
        shop.delay = 5s;
        shop.submit("job");
        shop.server.show(shop.cache);
        shop.settle();
        shop.drain(20s);
        shop.time.run_for(4s);
        CHECK(!shop.cut);
        shop.delay = 0s;
        shop.time.run_for(1s);
        CHECK(shop.cut == 0);
        CHECK(shop.has_job_set("job"));
    }
}

TEST_CASE("draining waits for no reconcile once the lease is lost: none of them can write any more") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    SECTION("before") {
        shop.allowed = false;
        shop.drain(20s);
        CHECK(shop.cut == 1);
    }
    SECTION("meanwhile") {
        shop.drain(20s);
        shop.time.run_for(3s);
        CHECK(!shop.cut);
        shop.allowed = false;
        shop.time.run_for(1s);
        CHECK(shop.cut == 1);
    }
}

TEST_CASE("no reconcile outlives the controller") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    REQUIRE(shop.jobs_in_flight == 1);
    SECTION("that is cancelled without having been drained") { shop.stop(); }
    SECTION("that breaks down") {
        shop.delay = 0s;
        shop.on_reconcile = [&] { shop.clock.breakdowns = 2; };
        shop.submit("other");
        shop.server.show(shop.cache);
        shop.settle();
    }
    CHECK(shop.ended);
    CHECK(shop.in_flight == 0);
}
