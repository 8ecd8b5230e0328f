#include "shop.hpp"

TEST_CASE("TrainJobs that wait for their time to live are counted until they are deleted") {
    const bool by_user = GENERATE(false, true);
    Shop shop;
    const auto expiring = [&](int count) {
        return shop.metrics.expose().find("\nsignalbox_train_jobs_expiring " + std::to_string(count) +
                                          "\n") != std::string::npos;
    };
    const auto catch_up = [&] {
        shop.server.show(shop.cache);
        shop.settle();
    };
    shop.submit("job");
    catch_up();
    CHECK(expiring(0));
    shop.server.edit(train_jobs, {"ns", "job"},
                     [](Json& job) { job["spec"]["ttlSecondsAfterFinished"] = 30; });
    shop.server.edit(job_sets, {"ns", "job"}, [&](Json& job_set) {
        job_set["status"]["conditions"] =
            Json::array({Json::object({{"type", "Completed"},
                                       {"status", "True"},
                                       {"reason", "AllJobsCompleted"},
                                       {"lastTransitionTime", api::format_time(shop.server.now)}})});
    });
    catch_up();
    shop.time.run_for(2s);
    catch_up();
    CHECK(expiring(1));
    if (by_user) {
        shop.server.erase(train_jobs, {"ns", "job"});
    } else {
        shop.server.now += 31s;
        shop.time.run_for(31s);
        catch_up();
        shop.server.collect_garbage();
    }
    catch_up();
    CHECK(expiring(0));
    CHECK_FALSE(shop.server.find(train_jobs, {"ns", "job"}));
}
